/** Integers of 64 bits in a path or a query: plain decimal digits become the exact BigInt, anything else is refused. */
import Fastify, { type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { answerOf, fromUint64, int64, objectOf, receivedText, type Schema, uint64 } from './support.js'

const notDecimal = 'must be an integer in plain decimal digits'
const invalid = (place: 'query' | 'path', name: string, message: string): object => ({
  refusal: { kind: 'invalid', issues: [{ in: place, name, message }] },
})

t.test('plain decimal digits become an exact BigInt', async (t) => {
  const rows: readonly (readonly [text: string, exact: bigint])[] = [
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['0', 0n],
    ['-42', -42n],
  ]
  for (const [id, exact] of rows) {
    t.strictSame(await receivedText(objectOf({ id: int64 }), { id }, 'path'), { value: { id: exact } }, id)
  }
  t.strictSame(await receivedText(objectOf({ id: uint64 }), { id: '18446744073709551615' }), {
    value: { id: 18446744073709551615n },
  })
})

t.test('anything else is refused, by name', async (t) => {
  const rows = ['007', '+5', '1.0', '1.5', ' 5', '5 ', '-0', '1e3', '0x10', '5n', '1_000', '', '٥', '-']
  rows.push('9223372036854775808', '-9223372036854775809', '18446744073709551616', '9'.repeat(90))
  for (const id of rows) {
    const schema = objectOf({ id: int64 })
    for (const part of ['path', 'query'] as const) {
      const refusal = { issues: [{ in: part, name: 'id' }] }
      t.match(await receivedText(schema, { id }, part), { refusal }, id.slice(0, 20))
    }
  }
  t.strictSame(await receivedText(objectOf({ id: uint64 }), { id: '-1' }), invalid('query', 'id', fromUint64))
})

type Row = readonly [
  schema: Schema,
  values: Readonly<Record<string, string | readonly string[]>>,
  value: object,
]

t.test('repeated names, other types that allow the text, defaults, and no twins', async (t) => {
  const big = 9007199254740993n
  const several = objectOf({ ids: { type: 'array', items: int64 }, id: int64 })
  const ofId = (id: Schema) => objectOf({ id })
  const nullable = ofId({ ...int64, nullable: true })
  const either = ofId({ anyOf: [{ type: 'string', enum: ['me'] }, int64] })
  const number = ofId({ anyOf: [int64, { type: 'number' }] })
  const limit = { type: 'integer', default: 50 }
  const withDefaults = objectOf({ id: int64, limit, after: { ...int64, default: 7 } })
  const rows: readonly Row[] = [
    [several, { ids: [`${big}`, '7'] }, { ids: [big, 7n] }],
    [several, { ids: `${big}` }, { ids: [big] }],
    [several, { id: [`${big}`] }, { id: big }],
    [nullable, { id: '' }, { id: null }],
    [ofId({ type: ['integer', 'string'], format: 'int64' }), { id: '7' }, { id: '7' }],
    [either, { id: 'me' }, { id: 'me' }],
    [either, { id: `${big}` }, { id: big }],
    [number, { id: '1.5' }, { id: 1.5 }],
    [number, { id: `${big}` }, { id: big }],
    [withDefaults, { id: '1', x: `${big}` }, { id: 1n, x: `${big}`, limit: 50, after: 7n }],
    [ofId(int64), { id: '1', id_str: '2' }, { id: 1n, id_str: '2' }],
  ]
  for (const [schema, values, value] of rows)
    t.strictSame(await receivedText(schema, values), { value }, JSON.stringify(values))
  t.strictSame(await receivedText(several, { ids: ['7', '07'] }), invalid('query', 'ids', notDecimal))
  t.strictSame(await receivedText(either, { id: '07' }), invalid('query', 'id', notDecimal))
  const twice = await receivedText(several, { id: ['7', '8'] })
  t.match(twice, { refusal: { issues: [{ in: 'query', name: 'id' }] } })
})

t.test('with a validator that converts no text, and with one of the app', async (t) => {
  const either = { anyOf: [{ ...int64, nullable: true }, { type: 'boolean' }] }
  const any = { anyOf: [int64, {}] }
  const ids = { type: 'array', items: int64 }
  const querystring = objectOf({ id: { ...int64, nullable: true }, ids, either, any })
  const strict: FastifyServerOptions = { ajv: { customOptions: { coerceTypes: false } } }
  for (const isOfApp of [false, true]) {
    const ask = (query: string) => {
      const app = Fastify(isOfApp ? {} : strict)
      if (isOfApp) app.setValidatorCompiler(() => () => true)
      return answerOf(app, { querystring, params: objectOf({ id: int64 }) }, { url: `/x?${query}` }, 'query')
    }
    const big = '9007199254740993'
    t.strictSame(await ask(`id=${big}`), { value: { id: 9007199254740993n } })
    t.strictSame(await ask(`ids=1&ids=${big}`), { value: { ids: [1n, 9007199254740993n] } })
    t.strictSame(await ask('either=7&any=7'), { value: { either: 7n, any: '7' } })
    for (const wrong of ['x', '07', '9223372036854775808'])
      t.match(await ask(`id=${wrong}`), { refusal: { issues: [{ in: 'query', name: 'id' }] } }, wrong)
    if (isOfApp) t.strictSame(await ask('id=&either='), { value: { id: '', either: '' } })
  }
})

t.test('a body is exact beside a query', async (t) => {
  const schema = { body: objectOf({ id: int64 }), querystring: objectOf({ after: int64 }) }
  const headers = { 'content-type': 'application/json' }
  const payload = '{"id":9007199254740993}'
  const request = { method: 'POST', url: '/x?after=1', headers, payload } as const
  t.strictSame(await answerOf(Fastify(), schema, request), { value: { id: 9007199254740993n } })
})
