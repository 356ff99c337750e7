/** What a body may say of prototypes is decided by the app's parser, with exact integers as without. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins, problems } from '../../../../src/index.js'
import { int64, objectOf } from './support.js'

type Policy = 'error' | 'remove' | 'ignore'

const policies: readonly Policy[] = ['error', 'remove', 'ignore']

/** Bodies whose long integers are read in different ways. */
const bodies = [
  '"id":1',
  '"id":9007199254740993',
  '"id":9007199254740993,"ids":[9007199254740992,9007199254740993]',
  '"id_str":"9007199254740993"',
]

const poisons = {
  onProtoPoisoning: '"__proto__":{"admin":9007199254740993}',
  onConstructorPoisoning: '"constructor":{"prototype":{"admin":9007199254740993}}',
}

async function keysOf(
  policy: Partial<Record<keyof typeof poisons, Policy>>,
  payload: string,
): Promise<unknown> {
  const app = Fastify(policy)
  await app.register(problems)
  await app.register(integerTwins)
  const body = objectOf({ id: int64, ids: { type: 'array', items: int64 } })
  app.post('/x', { schema: { body } }, async (request) => {
    const { id } = request.body as { id: unknown }
    return {
      keys: Object.keys(request.body as object).sort(),
      id: `${id}`,
      isPlain: !('admin' in (request.body as object)),
    }
  })
  const headers = { 'content-type': 'application/json' }
  const response = await app.inject({ method: 'POST', url: '/x', headers, payload })
  await app.close()
  const { code, keys, id, isPlain } = response.json()
  return response.statusCode === 200 ? { keys, id, isPlain } : code
}

for (const [option, poison] of Object.entries(poisons)) {
  t.test(option, async (t) => {
    const name = poison.slice(1, poison.indexOf('"', 1))
    for (const members of bodies) {
      const payload = `{${members},${poison}}`
      t.equal(await keysOf({}, payload), 'body-malformed', `${members}: refused without the option`)
      for (const policy of policies) {
        const got = await keysOf({ [option]: policy }, payload)
        if (policy === 'error') {
          t.equal(got, 'body-malformed', `${members}: ${policy}`)
          continue
        }
        const own = members.includes('ids') ? ['id', 'ids'] : ['id']
        const keys = policy === 'remove' ? own : [...own, name].sort()
        const id = members === '"id":1' ? '1' : '9007199254740993'
        t.strictSame(got, { keys, id, isPlain: true }, `${members}: ${policy}`)
      }
    }
  })
}
