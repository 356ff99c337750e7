/** Whatever a validator does to an input, the handler gets exact BigInts, or the request is refused. */
import Fastify from 'fastify'
import t from 'tap'
import { answerOf, fromInt64, int64, objectOf, type Received, received, type Schema } from './support.js'

const long = '9007199254740993'
const exact = 9007199254740993n
const list: Schema = { type: 'array', items: int64 }
const rounded = 'must be written in plain digits, as it is beyond 2^53'

/** What comes of a body if the validator of the app puts something else in its place. */
async function validated(
  body: Schema,
  payload: string,
  change: (value: unknown) => unknown,
  type = 'application/json',
): Promise<Received> {
  const app = Fastify()
  app.setValidatorCompiler(() => (value: unknown) => ({ value: change(value) }))
  const parsers: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
    'application/x-www-form-urlencoded': (bytes) => Object.fromEntries(new URLSearchParams(String(bytes))),
    'application/vnd.bytes': (bytes) => bytes,
    'application/vnd.rounded': (bytes) => JSON.parse(String(bytes)),
  }
  for (const [type, parse] of Object.entries(parsers))
    app.addContentTypeParser(type, { parseAs: 'buffer' }, async (_: unknown, bytes: Buffer) => parse(bytes))
  const headers = { 'content-type': type }
  const result = await answerOf(app, { body }, { method: 'POST', url: '/x', headers, payload })
  await app.close()
  return result
}

t.test('defaults become BigInts', async (t) => {
  const schema = objectOf({
    id: { ...int64, default: 5 },
    more: objectOf({ ids: { ...list, default: [1, 2] } }, { default: {} }),
  })
  t.strictSame(await received(schema, '{}'), { value: { id: 5n, more: { ids: [1n, 2n] } } })
  t.strictSame(await received(schema, `{"id":${long}}`), { value: { id: exact, more: { ids: [1n, 2n] } } })
})

t.test('a value that the validator replaces', async (t) => {
  const schema = objectOf({ id: int64, ids: list, map: { type: 'object', additionalProperties: int64 } })
  const text = `{"id":${long},"ids":[${long},9007199254740992],"map":{"a":9007199254740992,"b":${long}}}`
  const map = { a: 9007199254740992n, b: exact }
  const value = { id: exact, ids: [exact, 9007199254740992n], map }
  t.strictSame(await validated(schema, text, structuredClone), { value })
})

t.test('values that the validator adds', async (t) => {
  const schema = objectOf({ id: int64, ids: list, inner: objectOf({ id: int64 }) })
  const text = `{"id":${long},"ids":[${long}],"inner":{"id":${long}}}`
  const unchanged = [
    'text',
    7,
    {},
    [],
    { id: [7], ids: 7, inner: [] },
    { id: null, ids: null, inner: null },
    { id: {}, ids: {}, inner: 7 },
    { id: 'a', ids: ['a', null, true], inner: 'a' },
    { id: 7n, ids: [7n] },
  ]
  const exactly = { id: 7n, ids: [7n, 8n], inner: { id: 7n } }
  const rows: readonly (readonly [made: unknown, value: unknown])[] = [
    ...unchanged.map((made) => [made, structuredClone(made)] as const),
    [{ id: 7, ids: [7, 8], inner: { id: 7 } }, exactly],
    [{ inner: { id: 9007199254740992 } }, { inner: { id: exact } }],
  ]
  for (const [index, [made, value]] of rows.entries()) {
    t.strictSame(await validated(schema, text, () => made), { value }, `row ${index}`)
  }
})

t.test('a rounded Number that a validator has moved is refused', async (t) => {
  const schema = objectOf({ id: int64, other: int64, ids: list })
  const rows: readonly (readonly [text: string, made: unknown, pointer: string, message?: string])[] = [
    [`{"id":${long}}`, { other: 9007199254740992 }, '/other'],
    [`{"ids":[1,${long}]}`, { ids: [9007199254740992] }, '/ids/0'],
    ['{"id":1}', { id: 9007199254740992 }, '/id'],
    ['{"id":1}', { id: 1.5 }, '/id', fromInt64],
    ['{"id":1}', { id: 2 ** 63 }, '/id', fromInt64],
  ]
  for (const [text, made, pointer, message = rounded] of rows) {
    t.match(await validated(schema, text, () => made), { refusal: { issues: [{ pointer, message }] } }, text)
  }
  const orText = objectOf({ id: { anyOf: [{ type: 'string' }, int64] }, other: int64 })
  const trimmed = await validated(orText, `{"id":" a ","other":${long}}`, () => ({ id: 'a' }))
  t.strictSame(trimmed, { value: { id: 'a' } }, 'a text is what the validator makes of it')
})

t.test('a body of another content type', async (t) => {
  const form = 'application/x-www-form-urlencoded'
  const toNumbers = (value: unknown): unknown => ({ id: Number((value as { id: string }).id) })
  const schema = objectOf({ id: int64 })
  t.strictSame(await validated(schema, `id=${long}`, toNumbers, form), { value: { id: exact } })
  t.strictSame(await validated(schema, 'id=5', toNumbers, form), { value: { id: 5n } })
  t.match(await validated(schema, 'id=0x20000000000001', toNumbers, form), {
    refusal: { issues: [{ pointer: '/id', message: 'must be an integer in plain decimal digits' }] },
  })
  const same = (value: unknown): unknown => value
  t.strictSame(await validated(schema, '{"id":null}', same, 'application/vnd.rounded'), {
    value: { id: null },
  })
  t.match(await validated(schema, `{"id":${long}}`, same, 'application/vnd.rounded'), {
    refusal: { issues: [{ pointer: '/id', message: rounded }] },
  })
  const map = { type: 'object', additionalProperties: int64 }
  t.strictSame(await validated(map, 'abc', same, 'application/vnd.bytes'), { value: Buffer.from('abc') })
})

t.test('a hook of the app that changes the body', async (t) => {
  for (const [made, result] of [
    [{ id: 7 }, { value: { id: 7n } }],
    [
      { id: 9007199254740994 },
      { refusal: { kind: 'invalid', issues: [{ in: 'body', pointer: '/id', message: rounded }] } },
    ],
  ]) {
    const app = Fastify()
    app.addHook('preValidation', async (request) => {
      request.body = made
    })
    const headers = { 'content-type': 'application/json' }
    const body = objectOf({ id: int64 })
    const payload = `{"id":${long}}`
    t.strictSame(await answerOf(app, { body }, { method: 'POST', url: '/x', headers, payload }), result)
    await app.close()
  }
})
