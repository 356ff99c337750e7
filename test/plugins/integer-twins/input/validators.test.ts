/** Whatever a validator does to an input, the handler gets exact BigInts, or the request is refused. */
import Fastify from 'fastify'
import t from 'tap'
import {
  answerOf,
  fromInt64,
  gets,
  int64,
  listOf,
  notDecimal,
  objectOf,
  received,
  type Schema,
} from './support.js'

const long = '9007199254740993'
const exact = 9007199254740993n
const ofId = objectOf({ id: int64 })
const map = { type: 'object', additionalProperties: int64 }
const rounded = 'must be written in plain digits, as it is beyond 2^53'

const refused = (message: string) => ({
  refusal: { kind: 'invalid', issues: [{ in: 'body', pointer: '/id', message }] },
})

/** What comes of a body if the validator of the app puts something else in its place. */
async function validated(
  body: Schema,
  payload: string,
  change: (value: unknown) => unknown,
  type = 'application/json',
) {
  const app = Fastify()
  app.setValidatorCompiler(() => (value: unknown) => ({ value: change(value) }))
  const parsers: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
    'application/x-www-form-urlencoded': (bytes) => Object.fromEntries(new URLSearchParams(String(bytes))),
    'application/vnd.bytes': (bytes) => bytes,
    'application/vnd.rounded': (bytes) => JSON.parse(String(bytes)),
  }
  for (const [type, parse] of Object.entries(parsers))
    app.addContentTypeParser(type, { parseAs: 'buffer' }, async (_: unknown, bytes: Buffer) => parse(bytes))
  return answerOf(app, { body }, { method: 'POST', url: '/x', headers: { 'content-type': type }, payload })
}

t.test('defaults become BigInts', async (t) => {
  const schema = objectOf({
    id: { ...int64, default: 5 },
    more: objectOf({ ids: { ...listOf(), default: [1, 2] } }, { default: {} }),
  })
  const more = { ids: [1n, 2n] }
  const rows = [['{}', { id: 5n, more }] as const, [`{"id":${long}}`, { id: exact, more }] as const]
  await gets(t, schema, rows, received)
})

t.test('values that the validator replaces or adds', async (t) => {
  const schema = objectOf({ id: int64, ids: listOf(), map, inner: ofId })
  const text = `{"id":${long},"ids":[${long},9007199254740992],"map":{"a":${long}},"inner":{"id":${long}}}`
  const value = { id: exact, ids: [exact, 9007199254740992n], map: { a: exact }, inner: { id: exact } }
  t.strictSame(await validated(schema, text, structuredClone), { value })
  const unchanged = [
    ...['text', 7, []],
    { id: [7], ids: 7, inner: [] },
    { id: null, ids: null, inner: null },
    { id: {}, ids: {}, inner: 7 },
    { id: 'a', ids: ['a', null, true], inner: 'a' },
    { id: 7n, ids: [7n] },
  ]
  for (const made of unchanged) {
    const value = structuredClone(made)
    t.strictSame(await validated(schema, text, () => made), { value }, `row ${unchanged.indexOf(made)}`)
  }
  const made = { id: 7, ids: [7, 8], inner: { id: 9007199254740992 } }
  const exactly = { id: 7n, ids: [7n, 8n], inner: { id: exact } }
  t.strictSame(await validated(schema, text, () => made), { value: exactly })
})

t.test('a rounded Number that a validator has moved is refused', async (t) => {
  const schema = objectOf({ id: int64, other: int64, ids: listOf() })
  const rows: readonly (readonly [text: string, made: unknown, pointer: string, message?: string])[] = [
    [`{"id":${long}}`, { other: 9007199254740992 }, '/other'],
    [`{"ids":[1,${long}]}`, { ids: [9007199254740992] }, '/ids/0'],
    ['{"id":1}', { id: 9007199254740992 }, '/id'],
    ['{"id":1}', { id: 1.5 }, '/id', fromInt64],
    ['{"id":1}', { id: 2 ** 63 }, '/id', fromInt64],
  ]
  for (const [text, made, pointer, message = rounded] of rows)
    t.match(await validated(schema, text, () => made), { refusal: { issues: [{ pointer, message }] } }, text)
  const orText = objectOf({ id: { anyOf: [{ type: 'string' }, int64] }, other: int64 })
  const trimmed = await validated(orText, `{"id":" a ","other":${long}}`, () => ({ id: 'a' }))
  t.strictSame(trimmed, { value: { id: 'a' } }, 'a text is what the validator makes of it')
})

t.test('a body of another content type', async (t) => {
  const toNumbers = (value: unknown): unknown => ({ id: Number((value as { id: string }).id) })
  const same = (value: unknown): unknown => value
  const form = 'application/x-www-form-urlencoded'
  const [ofNumbers, ofBytes] = ['application/vnd.rounded', 'application/vnd.bytes']
  for (const [body, text, change, type, result] of [
    [ofId, `id=${long}`, toNumbers, form, { value: { id: exact } }],
    [ofId, 'id=5', toNumbers, form, { value: { id: 5n } }],
    [ofId, 'id=0x20000000000001', toNumbers, form, refused(notDecimal)],
    [ofId, '{"id":null}', same, ofNumbers, { value: { id: null } }],
    [ofId, `{"id":${long}}`, same, ofNumbers, refused(rounded)],
    [map, 'abc', same, ofBytes, { value: Buffer.from('abc') }],
  ] as const)
    t.strictSame(await validated(body, text, change, type), result, `${type}: ${text}`)
})

t.test('a hook of the app that changes the body', async (t) => {
  for (const [made, result] of [
    [{ id: 7 }, { value: { id: 7n } }],
    [{ id: 9007199254740994 }, refused(rounded)],
  ]) {
    const app = Fastify()
    app.addHook('preValidation', async (request) => {
      request.body = made
    })
    t.strictSame(await answerOf(app, { body: ofId }, `{"id":${long}}`), result)
  }
})
