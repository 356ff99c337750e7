/** Integers of a path, a query or a form: plain decimal digits become the exact BigInt, anything else is refused. */
import { parse } from 'node:querystring'
import Fastify, { type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { integerTwins, methodOverride, problems } from '../../../../src/index.js'
import {
  answerOf,
  fromUint64,
  int64,
  listOf,
  notDecimal,
  objectOf,
  receivedText,
  type Schema,
  uint64,
} from './support.js'

const long = '9007199254740993'
const big = 9007199254740993n
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
