/** Integers in a body, a path, a query or a form: the handler gets the exact BigInt (properties.test.ts), or the request is refused. */

import { parse } from 'node:querystring'
import Fastify, { type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { integerTwins, methodOverride, problems } from '../../../../src/index.js'
import {
  answerOf,
  fromInt64,
  fromUint64,
  gets,
  int64,
  listOf,
  notDecimal,
  objectOf,
  received,
  receivedStrictly,
  receivedText,
  recursive,
  refuses,
  type Schema,
  self,
  uint64,
} from './support.js'

const notZero = 'must be 0, not -0'
const plainDigits = 'must be written in plain digits, as it is beyond 2^53'
const item = objectOf({ id: int64 })
const set = { ...listOf(), uniqueItems: true }
const big = 9007199254740993n

t.test('a declared integer may have a fraction of zeros, or an exponent', async (t) => {
  for (const [literal, id] of [['1e3', 1000n] as const, ['1.0', 1n] as const, ['100e-1', 10n] as const])
    await gets(t, item, [[`{"id":${literal}}`, { id }]])
})

t.test('a value that is not a 64-bit integer is refused', async (t) => {
  const rows: readonly (readonly [literal: string, message?: string])[] = [
    ['9223372036854775808', fromInt64],
    ['-1e400'],
    ['9'.repeat(10_000)],
    ['1.5'],
    ['9007199254740991.4', notDecimal],
    ['1.00000000000000000001', notDecimal],
    ['-0.0', notZero],
    ['-0.00000000000000000000', notZero],
    ['1e17', plainDigits],
    ['9007199254740993.0', notDecimal],
    ['450359962737049.75e1', notDecimal],
    ['999999999999999.01', notDecimal],
    ['100.000000000000001', notDecimal],
  ]
  for (const [literal, message = /./] of rows) await refuses(t, item, [[`{"id":${literal}}`, '/id', message]])
  const schema = objectOf({ id: uint64 })
  for (const id of [0n, 18446744073709551615n]) await gets(t, schema, [[`{"id":${id}}`, { id }]], received)
  for (const wrong of ['18446744073709551616', '-1', '-9007199254740993'])
    await refuses(t, schema, [[`{"id":${wrong}}`, '/id', fromUint64]])
})

t.test('an error has a pointer to the integer (RFC 6901 §3)', async (t) => {
  const schema = objectOf({ 'a/b~': listOf(item) })
  await refuses(t, schema, [['{"a/b~":[{"id":1},{"id":-0}]}', '/a~1b~0/1/id', notZero]])
  await refuses(t, int64, [['-0', '', notZero]])
  const many = await received(listOf(), `[${Array(80).fill('-0').join()}]`)
  t.match(many, { refusal: { issues: { length: 50 } } }, 'at most 50 are sent')
})

t.test('undeclared long integers are Numbers, as without the plugin, and have no twins', async (t) => {
  const schema = objectOf({ id: int64, deep: item })
  const long = '12345678901234567'
  const text = `{"x":${long},"x_str":"6","deep":{"y":[{"z":${long}}],"id":1},"id":9007199254740993}`
  const value = { x: Number(long), x_str: '6', deep: { y: [{ z: Number(long) }], id: 1n }, id: big }
  await gets(t, schema, [[text, value]])
})

t.test('values that a validator converts to integers are exact; others are left to it', async (t) => {
  for (const json of ['"x"', 'true', 'null', '{}', '[1]', '[1,2]', '"12"', '"9007199254740993"'])
    await refuses(t, item, [[`{"id":${json}}`, '/id', /must be integer/]], { ask: receivedStrictly })
  const converted: readonly (readonly [json: string, id: bigint])[] = [
    ['"-9223372036854775808"', -9223372036854775808n],
    ['["9007199254740993"]', big],
    ['true', 1n],
    ['" 12 "', 12n],
  ]
  for (const [json, id] of converted) await gets(t, item, [[`{"id":${json}}`, { id }]], received)
  for (const ids of ['9007199254740993', '"9007199254740993"'])
    await gets(t, objectOf({ ids: listOf() }), [[`{"ids":${ids}}`, { ids: [big] }]], received)
  await refuses(t, item, [
    ['{"id":"9223372036854775808"}', '/id', fromInt64],
    ['{"id":" 9007199254740993 "}', '/id', notDecimal],
    ['{"id":"9007199254740993.0"}', '/id', notDecimal],
    ['{"id":"-0"}', '/id', notZero],
  ])
})

t.test('an integer that a validator converts to text has all its digits', async (t) => {
  const schema = objectOf({ id: { anyOf: [{ type: 'string' }, int64] } })
  const [number, text] = ['{"id":9007199254740993}', { id: '9007199254740993' }]
  await gets(t, schema, [[number, text]], received)
  await gets(t, schema, [['{"id":0.30000000000000000000}', { id: '0.3' }]], received)
  await gets(t, schema, [[number, { id: big }]])
  await gets(t, schema, [['{"id":"9007199254740993"}', text]])
})

t.test('the validator sees the Number that JSON.parse makes', async (t) => {
  const limited = { ...int64, minimum: 1, maximum: 9007199254740992 }
  const schema = objectOf({ id: limited })
  await gets(t, schema, [['{"id":9007199254740992}', { id: 9007199254740992n }]], received)
  const ids = [9007199254740992n, big]
  const limitedIds = objectOf({ ids: listOf(limited) })
  await gets(t, limitedIds, [[`{"ids":[${ids.join()}],"a_str":""}`, { ids, a_str: '' }]], received)
  await refuses(t, schema, [
    ['{"id":9007199254740995}', '/id', /must be <=/],
    ['{"id":0}', '/id', /must be >=/],
  ])
})

t.test('integers beyond 2^53 with the same Number stay different, also 40,000 of them', async (t) => {
  const count = (length: number, first: bigint) => Array.from({ length }, (_, index) => first + BigInt(index))
  const ids = count(200, 9007199254740900n)
  const some = [-9007199254740993n, -9007199254740992n, -9007199254740991n]
  for (const one of [ids, [...ids].reverse(), some, count(40_000, 9223372036854700000n)])
    await gets(t, set, [[`[${one.join()}]`, one]], received)
  const bounded = { ...set, items: { ...int64, minimum: -(2 ** 63), maximum: 2 ** 63 } }
  const largest = [...some, ...count(2, 9223372036854775806n)]
  await gets(t, bounded, [[`[${largest.join()}]`, largest]])
  await refuses(t, set, [
    [`[${[...ids, ids[150]].join()}]`, '', /duplicate/],
    ['[1.00000000000000000000,1.0000000000000000000]', '', /duplicate/],
  ])
  await gets(t, { ...set, items: { anyOf: [int64, { type: 'number' }] } }, [[`[${some.join()}]`, some]])
  await gets(t, objectOf({ set }), [['{"set":[1,2],"a_str":"b"}', { set: [1n, 2n], a_str: 'b' }]])
  const objects = [9007199254740992n, big].map((id) => ({ id }))
  const text = `[${objects.map(({ id }) => `{"id":${id}}`).join()}]`
  await gets(t, { ...listOf(item), uniqueItems: true }, [[text, objects]], received)
})

t.test('a nested body, and names that objects inherit', async (t) => {
  const tree = recursive(objectOf({ id: int64, next: self }))
  const nested = (levels: number): string => `${'{"next":'.repeat(levels)}{"id":-0}${'}'.repeat(levels)}`
  await refuses(t, tree, [
    [nested(3), '/next/next/next/id', notZero],
    [nested(600), `${'/next'.repeat(60)}…`, 'must not nest deeper than 500 levels'],
  ])
  const text = '{"constructor":9007199254740993,"toString_str":"6"}'
  const schema = objectOf({ constructor: int64, toString: int64 })
  await gets(t, schema, [[text, { constructor: big, toString: 6n }]])
})

const long = '9007199254740993'
const ofId = (id: Schema) => objectOf({ id })
const invalid = (name: string, message: string) => ({
  refusal: { kind: 'invalid', issues: [{ in: 'query', name, message }] },
})

t.test('plain decimal digits become an exact BigInt; anything else is refused, by name', async (t) => {
  for (const id of [long, '-9223372036854775808', '0', '-42'])
    t.strictSame(await receivedText(ofId(int64), { id }, 'path'), { value: { id: BigInt(id) } }, id)
  const largest = '18446744073709551615'
  t.strictSame(await receivedText(ofId(uint64), { id: largest }), { value: { id: BigInt(largest) } })
  const wrong = ['007', '+5', '1.0', ' 5', '-0', '1e3', '0x10', '5n', '', '٥', '-', '9'.repeat(90)]
  for (const id of [...wrong, '9223372036854775808', '-9223372036854775809'])
    for (const part of ['path', 'query'] as const) {
      const refusal = { issues: [{ in: part, name: 'id' }] }
      t.match(await receivedText(ofId(int64), { id }, part), { refusal }, id.slice(0, 20))
    }
  t.strictSame(await receivedText(ofId(uint64), { id: '-1' }), invalid('id', fromUint64))
})

t.test('repeated names, other types that allow the text, defaults, and no twins', async (t) => {
  const several = objectOf({ ids: listOf(), id: int64 })
  const either = ofId({ anyOf: [{ type: 'string', enum: ['me'] }, int64] })
  const number = ofId({ anyOf: [int64, { type: 'number' }] })
  const limit = { type: 'integer', default: 50 }
  const withDefaults = objectOf({ id: int64, limit, after: { ...int64, default: 7 } })
  const rows: readonly (readonly [schema: Schema, values: Parameters<typeof receivedText>[1], object])[] = [
    [several, { ids: [long, '7'] }, { ids: [big, 7n] }],
    [several, { ids: long }, { ids: [big] }],
    [several, { id: [long] }, { id: big }],
    [ofId({ ...int64, nullable: true }), { id: '' }, { id: null }],
    [ofId({ type: ['integer', 'string'], format: 'int64' }), { id: '7' }, { id: '7' }],
    [either, { id: 'me' }, { id: 'me' }],
    [either, { id: long }, { id: big }],
    [number, { id: '1.5' }, { id: 1.5 }],
    [number, { id: long }, { id: big }],
    [withDefaults, { id: '1', x: long }, { id: 1n, x: long, limit: 50, after: 7n }],
    [ofId(int64), { id: '1', id_str: '2' }, { id: 1n, id_str: '2' }],
  ]
  for (const [schema, values, value] of rows)
    t.strictSame(await receivedText(schema, values), { value }, JSON.stringify(values))
  t.strictSame(await receivedText(several, { ids: ['7', '07'] }), invalid('ids', notDecimal))
  t.strictSame(await receivedText(either, { id: '07' }), invalid('id', notDecimal))
  const twice = await receivedText(several, { id: ['7', '8'] })
  t.match(twice, { refusal: { issues: [{ in: 'query', name: 'id' }] } })
})

t.test('with a validator that converts no text, and with one of the app', async (t) => {
  const orNull = { ...int64, nullable: true }
  const either = { anyOf: [orNull, { type: 'boolean' }] }
  const querystring = objectOf({ id: orNull, ids: listOf(), either, any: { anyOf: [int64, {}] } })
  const strict: FastifyServerOptions = { ajv: { customOptions: { coerceTypes: false } } }
  for (const isOfApp of [false, true]) {
    const ask = (query: string) => {
      const app = Fastify(isOfApp ? {} : strict)
      if (isOfApp) app.setValidatorCompiler(() => () => true)
      return answerOf(app, { querystring, params: ofId(int64) }, { url: `/x?${query}` }, 'query')
    }
    const text = `id=${long}&ids=1&ids=${long}&either=7&any=7`
    t.strictSame(await ask(text), { value: { id: big, ids: [1n, big], either: 7n, any: '7' } })
    for (const wrong of ['x', '07', '9223372036854775808'])
      t.match(await ask(`id=${wrong}`), { refusal: { issues: [{ in: 'query', name: 'id' }] } }, wrong)
    if (isOfApp) t.strictSame(await ask('id=&either='), { value: { id: '', either: '' } })
  }
})

t.test('a body is exact beside a query', async (t) => {
  const schema = { body: ofId(int64), querystring: objectOf({ after: int64 }) }
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/x?after=1', headers, payload: `{"id":${long}}` } as const
  t.strictSame(await answerOf(Fastify(), schema, request), { value: { id: big } })
})

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const closed = { additionalProperties: false }
const body = objectOf({ user_id: int64, ids: listOf(), note: { type: 'string' } }, closed)

async function ofForms(mode: 'enforce' | 'report') {
  const app = Fastify()
  app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, (_request, text, done) =>
    done(null, { ...parse(String(text)) }),
  )
  await app.register(problems)
  await app.register(methodOverride)
  await app.register(integerTwins, { mode })
  const got: unknown[] = []
  const handler = async ({ body }: { body: unknown }) => void got.push(body)
  app.route({ method: ['POST', 'PATCH'], url: '/v1/users/7', schema: { body }, handler })
  return async (payload: string) => {
    const answer = await app.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload })
    return answer.statusCode === 200 ? got.pop() : answer.json().errors
  }
}

t.test('an int64 of a form is the exact BigInt, also of a form that overrides the method', async (t) => {
  const answerTo = await ofForms('enforce')
  const rows: readonly (readonly [fields: string, got: object])[] = [
    [`user_id=31&note=${long}`, { user_id: 31n, note: long }],
    [`user_id_str=${long}`, { user_id: big }],
    [`ids=1&ids=${long}`, { ids: [1n, big] }],
    [`_method=PATCH&user_id=${long}`, { user_id: big }],
    [`_method=PATCH&ids=${long}`, { ids: [big] }],
  ]
  for (const [fields, got] of rows) t.same(await answerTo(fields), got, fields)
  for (const fields of ['user_id=1.5', 'user_id=x', '_method=PATCH&user_id=9223372036854775808'])
    t.match(await answerTo(fields), [{ in: 'body', pointer: '/user_id' }], fields)
  t.same(await (await ofForms('report'))('user_id=31'), { user_id: 31 }, 'report mode takes it as it is')
})
