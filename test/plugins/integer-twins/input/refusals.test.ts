/** What a request is refused for, and how much of it is said; what a body may say of prototypes. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins, problems } from '../../../../src/index.js'
import { keepLogs } from '../../../support/logs.js'
import { serve } from '../../../support/serve.js'
import { gets, int64, listOf, objectOf, received, type Schema } from './support.js'

const url = '/v1/orders'
const headers = { 'content-type': 'application/json' }

/** An app with one route for bodies of a schema, which sends its body. */
async function service(body: Schema, options: object = {}) {
  const app = Fastify(options)
  await app.register(problems)
  await app.register(integerTwins)
  app.post<{ Body: { id: bigint } }>(url, { schema: { body } }, async ({ body }) => ({
    keys: Object.keys(body).sort(),
    id: `${body.id}`,
    isPlain: !('admin' in body),
  }))
  return { app, send: async (payload: string) => app.inject({ method: 'POST', url, headers, payload }) }
}

t.test('all errors of one kind are sent at once', async (t) => {
  const customOptions = { allErrors: true, removeAdditional: false, coerceTypes: false }
  const properties = { id: int64, friend_ids: listOf(), note: { type: 'string' } }
  const body = objectOf(properties, { required: ['id', 'note'], additionalProperties: false })
  const { send } = await service(body, { ajv: { customOptions } })
  const table: readonly (readonly [payload: string, code: string, faults: readonly string[]])[] = [
    // In the words of the validator: of the type, and of the format.
    ['{"id":1.5,"extra":1}', 'validation', ['/extra', '/id', '/id', '/note']],
    ['{"id":5,"id_str":"6","note":"a"}', 'integer-twin-mismatch', ['/id_str']],
    ['{"id_str":"x","note":"a"}', 'validation', ['/id_str']],
    ['{"id":1,"friend_ids":[1e30],"note":"a"}', 'validation', ['/friend_ids/0']],
  ]
  for (const [payload, code, faults] of table) {
    const document = (await send(payload)).json()
    const found = document.errors.map(({ pointer }: { readonly pointer: string }) => pointer)
    t.strictSame([document.code, ...found.sort()], [code, ...faults], payload)
  }
})

t.test('the size of a refusal is bounded, whatever names the body has', async (t) => {
  const logs = keepLogs('info')
  const { send } = await service({ type: 'object', additionalProperties: listOf() }, { logger: logs.logger })
  const answer = await send(`{"${'k'.repeat(100_000)}":[${Array.from({ length: 60 }, () => '1e30')}]}`)
  t.match(answer.json(), { status: 400, code: 'validation', errors: [{ pointer: /^\/k+…$/ }] })
  t.ok(answer.payload.length < 5_000, `${answer.payload.length} characters are answered`)
  t.ok(JSON.stringify(logs.lines).length < 10_000, 'what is logged')
})

t.test('a body in several chunks, with a byte order mark, is exact too', async (t) => {
  const { app } = await service(objectOf({ id: int64 }))
  const { origin } = await serve(t, app)
  const pieces = ['\ufeff{"id":90071992', '54740993,"note":"caf', 'é"}']
  const body = ReadableStream.from(pieces.map((piece) => Buffer.from(piece)))
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  const answer = await (await fetch(`${origin}${url}`, init)).json()
  t.strictSame(answer, { keys: ['id', 'note'], id: '9007199254740993', isPlain: true })
})

const poisons = [
  ['onProtoPoisoning', '__proto__', '{"admin":9007199254740993}'],
  ['onConstructorPoisoning', 'constructor', '{"prototype":{"admin":9007199254740993}}'],
] as const

t.test('the app’s parser decides what a body may say of prototypes, as without the plugin', async (t) => {
  // Bodies whose long integers are read in different ways.
  const bodies = ['"id":1', '"id":9007199254740993,"ids":[9007199254740992]', '"id_str":"9007199254740993"']
  for (const [option, name, value] of poisons) {
    for (const policy of [undefined, 'error', 'remove', 'ignore'] as const) {
      for (const members of bodies) {
        const { send } = await service(objectOf({ id: int64, ids: listOf() }), policy && { [option]: policy })
        const got = (await send(`{${members},"${name}":${value}}`)).json()
        const about = `${option} ${policy}: ${members}`
        if (policy === undefined || policy === 'error') t.equal(got.code, 'body-malformed', about)
        else {
          const own = members.includes('ids') ? ['id', 'ids'] : ['id']
          const keys = policy === 'remove' ? own : [...own, name].sort()
          const id = members === '"id":1' ? '1' : '9007199254740993'
          t.strictSame(got, { keys, id, isPlain: true }, about)
        }
      }
    }
  }
})

t.test('a twin cannot make a key that is refused', async (t) => {
  const map = { type: 'object', additionalProperties: { anyOf: [int64, listOf()] } }
  const { send } = await service(objectOf({ map, maps: { type: 'object', additionalProperties: map } }))
  for (const payload of [
    ...['{"map":{"__proto__":1}}', '{"map":{"__proto___str":"1"}}', '{"map":{"__proto__":[1]}}'],
    ...['{"map":{"\\u005f_proto___str":["1"]}}', '{"maps":{"constructor":{"prototype":1}}}'],
    '{"maps":{"constructor":{"prototype_str":"1"}}}',
  ])
    t.match((await send(payload)).json(), { status: 400, code: 'body-malformed' }, payload)
  const rows = [['{"constructor_str":"1","prototype_str":"2"}', { constructor: 1n, prototype: 2n }]] as const
  await gets(t, { type: 'object', additionalProperties: int64 }, rows, received)
})
