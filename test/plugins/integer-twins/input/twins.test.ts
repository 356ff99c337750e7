/** String twins in a body; what a request is refused for, and how much of it is told. */
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { integerTwins, problems } from '../../../../src/index.js'
import { appOf, withPlugins } from '../../../support/app.js'
import { keepLogs } from '../../../support/logs.js'
import { serve } from '../../../support/serve.js'
import {
  fromInt64,
  gets,
  int64,
  listOf as list,
  listOf,
  objectOf,
  received,
  receivedStrictly,
  refuses,
  type Schema,
} from './support.js'

const item = objectOf({ id: int64 }, { additionalProperties: false })
const lists = objectOf({ ids: list() }, { additionalProperties: false })
const map = (additionalProperties: Schema) => ({ type: 'object', additionalProperties })
const big = 9007199254740993n
const notDigits = 'must be the integer as a string of decimal digits'

type Wrong = readonly [text: string, pointer: string]
const mismatches = (t: Test, schema: Schema, rows: readonly Wrong[], name: string, ask = received) => {
  const named = rows.map((row) => [...row, `must be the same integer as ${name}`] as const)
  return refuses(t, schema, named, { kind: 'mismatch', ask })
}

t.test('if a client has rounded the number, the twin is used; its name may have escapes', async (t) => {
  for (const id of ['9007199254740992.0', '9.007199254740992e15'])
    await gets(t, item, [[`{"id":${id},"id_str":"9007199254740993"}`, { id: big }]])
  await gets(t, item, [['{"id":"5","id_str":"5"}', { id: 5n }]], received)
  await gets(t, item, [['{"id\\u005fstr":"5"}', { id: 5n }]])
})

t.test('another integer is a mismatch, and a number that is not rounded as in JavaScript', async (t) => {
  const rows = [
    ['9007199254740993', '9007199254740992'],
    ['9223372036854775806', '9223372036854775807'],
    ['9223372036854775808', '9223372036854775807'],
    ['1.00000000000000000001', '1'],
    ['-0', '0'],
  ]
  for (const [id = '', twin] of rows) {
    await mismatches(t, item, [[`{"id":${id},"id_str":"${twin}"}`, '/id_str']], 'id')
    await mismatches(t, lists, [[`{"ids":[${id}],"ids_str":["${twin}"]}`, '/ids_str/0']], 'ids')
  }
  for (const id of ['5', 'null', '{}', '[5]', '"9007199254740992"', '9007199254740993'])
    await mismatches(t, item, [[`{"id":${id},"id_str":"6"}`, '/id_str']], 'id')
  await mismatches(t, item, [['{"id":5,"id_str":null}', '/id_str']], 'id')
  const rounded = '{"id":9223372036854776000,"id_str":"9223372036854775807"}'
  await gets(t, item, [[rounded, { id: 9223372036854775807n }]], received)
})

t.test('invalid twins are refused, and twins out of range', async (t) => {
  const forms = ['5', '9007199254740993', 'true', '{}', '""', '"x"', '"05"', '"+5"', '"5.0"', '" 5"', '"-0"']
  for (const twin of forms)
    for (const text of [`{"id":5,"id_str":${twin}}`, `{"id_str":${twin}}`])
      await refuses(t, item, [[text, '/id_str', notDigits]])
  for (const digits of ['9223372036854775808', '9'.repeat(10_000)]) {
    await refuses(t, item, [
      [`{"id_str":"${digits}"}`, '/id_str', fromInt64],
      [`{"id":${digits},"id_str":"${digits}"}`, '/id_str', fromInt64],
    ])
  }
})

t.test('twins of arrays, item by item', async (t) => {
  await gets(t, lists, [['{"ids":[],"ids_str":[]}', { ids: [] }]])
  const wrong: readonly Wrong[] = [
    ['{"ids":[1,2],"ids_str":["1"]}', '/ids_str'],
    ['{"ids":[1,2],"ids_str":["1","3"]}', '/ids_str/1'],
    ['{"ids":[1,2],"ids_str":["1",null]}', '/ids_str/1'],
    ['{"ids":5,"ids_str":["5"]}', '/ids_str'],
  ]
  await mismatches(t, lists, wrong, 'ids', receivedStrictly)
  const deep = [['{"ids":[[1]],"ids_str":[["2"]]}', '/ids_str/0/0']] as const
  await mismatches(t, objectOf({ ids: list(list()) }), deep, 'ids', receivedStrictly)
  const refused = [
    ['{"ids":[1],"ids_str":[1]}', '/ids_str/0', notDigits],
    ['{"ids":[9223372036854775808],"ids_str":["9223372036854775808"]}', '/ids_str/0', fromInt64],
  ] as const
  await refuses(t, lists, refused, { ask: receivedStrictly })
})

t.test('null is the twin of a value that is not an integer', async (t) => {
  const nullable = objectOf({ id: { ...int64, nullable: true } }, { additionalProperties: false })
  for (const text of ['{"id":null,"id_str":null}', '{"id_str":null}'])
    await gets(t, nullable, [[text, { id: null }]])
  const mixed = objectOf({ ids: list({ anyOf: [int64, { type: 'null' }, { type: 'number' }] }) })
  await gets(t, mixed, [['{"ids":[1,null,1.5],"ids_str":["1",null,null]}', { ids: [1n, null, 1.5] }]])
})

t.test('a twin has a maximum depth; a body that a parser of the app nests very deep is no 500', async (t) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  t.match(await received(objectOf({ ids: list() }), `{"ids_str":${deep}}`), { refusal: { kind: 'invalid' } })
  const app = await appOf(integerTwins)
  app.addContentTypeParser('application/x-deep', { parseAs: 'string' }, (_, text, done) => {
    const levels = Array.from({ length: Number(text) })
    done(null, { deep: levels.reduce<unknown[]>((inner) => [inner], []) })
  })
  app.post('/v1/users', { schema: { body: objectOf({ id: int64 }) } }, () => ({ ok: true }))
  const headers = { 'content-type': 'application/x-deep' }
  const { statusCode } = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '100000' })
  t.equal(statusCode, 200)
})

t.test('a declared twin is a twin, unless it is an integer, and stays if it is required', async (t) => {
  const text = '{"id":5,"id_str":"5"}'
  const declared = objectOf({ id: int64, id_str: { type: 'string' } })
  await gets(t, declared, [[text, { id: 5n }]], received)
  const demanded = { ...declared, required: ['id', 'id_str'] }
  for (const sent of [text, '{"id_str":"5"}'])
    await gets(t, demanded, [[sent, { id: 5n, id_str: '5' }]], received)
  await refuses(t, demanded, [['{"id":5}', '/id_str', 'is required']])
  const integers = objectOf({ id: int64, id_str: int64 }, { additionalProperties: false })
  const both = ['{"id":1,"id_str":2,"id_str_str":"2"}', { id: 1n, id_str: 2n }] as const
  await gets(t, integers, [both])
})

t.test('twins in maps', async (t) => {
  await gets(t, map(int64), [
    ['{"a_str":"9007199254740993","a":9007199254740992}', { a: big }],
    ['{"a_str":7}', { a_str: 7n }],
    ['{"a_str":7,"a_str_str":"7"}', { a_str: 7n }],
  ])
  await gets(t, map(int64), [['{"a":"7","_str":"8"}', { a: 7n, _str: 8n }]], received)
  const declared = { ...map(int64), properties: { a_str: { type: 'string' } } }
  await gets(t, declared, [['{"a":1,"a_str":"2"}', { a: 1n, a_str: '2' }]])
  await mismatches(t, map(int64), [['{"a":1,"a_str":"2"}', '/a_str']], 'a')
  const strictly = { ask: receivedStrictly }
  await refuses(t, map(int64), [['{"a":1,"a_str":"x"}', '/a_str', /must be integer/]], strictly)
  const nullable = map({ ...int64, nullable: true })
  await gets(t, nullable, [['{"a":null,"a_str":null,"b_str":null}', { a: null, b_str: null }]], received)
  const text = '{"a":[1],"a_str":["1"],"b":[],"b_str":[],"c_str":[],"d_str":["7"]}'
  await gets(t, map(list()), [[text, { a: [1n], b: [], c_str: [], d: [7n] }]], received)
})

t.test('a member that another alternative declares is not a twin', async (t) => {
  const one = (name: string, properties: Schema) =>
    objectOf({ kind: { const: name }, ...properties }, { required: ['kind', ...Object.keys(properties)] })
  const closed = { oneOf: [one('number', { id: int64 }), one('text', { id_str: { type: 'string' } })] }
  await gets(t, closed, [['{"kind":"text","id_str":"5"}', { kind: 'text', id_str: '5' }]])
  const both = { anyOf: [objectOf({ id: int64 }), objectOf({ id_str: int64 })] }
  await gets(t, both, [['{"id":1,"id_str":2}', { id: 1n, id_str: 2n }]])
  const named = { anyOf: [objectOf({ id: int64 }), objectOf({ name: {} })] }
  await refuses(t, named, [['{"id":5,"id_str":"x"}', '/id_str', notDigits]])
  const mixed = map({ anyOf: [int64, { type: 'string' }] })
  const textOrMap = { anyOf: [objectOf({ id_str: { type: 'string' } }), mixed] }
  await gets(t, textOrMap, [['{"id_str":"5"}', { id_str: '5' }]])
  await gets(t, mixed, [['{"id_str":"5"}', { id: 5n }]])
  const open = { oneOf: [one('number', { id: int64 }), one('text', {})] }
  await gets(t, open, [
    ['{"kind":"text","id_str":"five"}', { kind: 'text', id_str: 'five' }],
    ['{"kind":"number","id_str":"5"}', { kind: 'number', id: 5n }],
  ])
})

const url = '/v1/orders'
const headers = { 'content-type': 'application/json' }

/** An app with one route for bodies of a schema, which sends its body. */
async function service(body: Schema, options: object = {}) {
  const app = await withPlugins(Fastify(options), problems, integerTwins)
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
