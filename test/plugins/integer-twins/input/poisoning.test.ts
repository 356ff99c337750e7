/** What a body may say of prototypes is decided by the app's parser, with exact integers as without. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins, problems } from '../../../../src/index.js'
import { gets, int64, objectOf, received } from './support.js'

/** Bodies whose long integers are read in different ways. */
const bodies = ['"id":1', '"id":9007199254740993,"ids":[9007199254740992]', '"id_str":"9007199254740993"']

const poisons = [
  ['onProtoPoisoning', '__proto__', '{"admin":9007199254740993}'],
  ['onConstructorPoisoning', 'constructor', '{"prototype":{"admin":9007199254740993}}'],
] as const

for (const [option, name, value] of poisons) {
  t.test(option, async (t) => {
    for (const policy of [undefined, 'error', 'remove', 'ignore'] as const) {
      for (const members of bodies) {
        const app = Fastify({ ...(policy && { [option]: policy }) })
        await app.register(problems)
        await app.register(integerTwins)
        const body = objectOf({ id: int64, ids: { type: 'array', items: int64 } })
        app.post<{ Body: { id: bigint } }>('/x', { schema: { body } }, async ({ body }) => ({
          keys: Object.keys(body).sort(),
          id: `${body.id}`,
          isPlain: !('admin' in body),
        }))
        const headers = { 'content-type': 'application/json' }
        const payload = `{${members},"${name}":${value}}`
        const got = (await app.inject({ method: 'POST', url: '/x', headers, payload })).json()
        const about = `${policy}: ${members}`
        if (policy !== 'remove' && policy !== 'ignore') {
          t.equal(got.code, 'body-malformed', about)
          continue
        }
        const own = members.includes('ids') ? ['id', 'ids'] : ['id']
        const keys = policy === 'remove' ? own : [...own, name].sort()
        const id = members === '"id":1' ? '1' : '9007199254740993'
        t.strictSame(got, { keys, id, isPlain: true }, about)
      }
    }
  })
}

t.test('a twin cannot make a key that is refused', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(integerTwins)
  const map = { type: 'object', additionalProperties: { anyOf: [int64, { type: 'array', items: int64 }] } }
  const schema = { body: objectOf({ map, maps: { type: 'object', additionalProperties: map } }) }
  app.post('/x', { schema }, async () => ({}))
  const headers = { 'content-type': 'application/json' }
  const bodies: readonly (readonly [plain: string, twin: string])[] = [
    ['{"map":{"__proto__":1}}', '{"map":{"__proto___str":"1"}}'],
    ['{"map":{"__proto__":[1]}}', '{"map":{"\\u005f_proto___str":["1"]}}'],
    ['{"maps":{"constructor":{"prototype":1}}}', '{"maps":{"constructor":{"prototype_str":"1"}}}'],
  ]
  for (const payload of bodies.flat()) {
    const answer = await app.inject({ method: 'POST', url: '/x', headers, payload })
    t.match(answer.json(), { status: 400, code: 'body-malformed' }, payload)
  }
  const rows = [['{"constructor_str":"1","prototype_str":"2"}', { constructor: 1n, prototype: 2n }]] as const
  await gets(t, { type: 'object', additionalProperties: int64 }, rows, received)
})
