import fc from 'fast-check'
import { firstId } from '../../examples/demo-server/migrations.js'
import { collections } from './collections.js'
import { writeExact } from './exact-json.js'
import { sampleOf } from './samples.js'

/** A request that writes. */
export interface RandomWrite {
  readonly method: string
  readonly path: string
  /** Its `Content-Type`. */
  readonly type: string
  readonly body: string
}

const names = collections.map(({ name }) => name)

// Mostly of an item that is there; some lie before the first.
const likelyId = fc.integer({ min: -2, max: 60 }).map((index) => firstId + BigInt(index))
const longDigits = fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n })
const id = fc.oneof(
  likelyId.map(String),
  longDigits.map(String),
  fc.nat({ max: 400 }).map((length) => '9'.repeat(length)),
  fc.constantFrom(
    'abc',
    '1.5',
    '1e400',
    '-0',
    '%D9%A3',
    '9223372036854775807',
    '9223372036854775808',
    '%31',
    '1%00',
  ),
)
const segment = fc.oneof(
  fc.constantFrom(
    'v1',
    ...names,
    'docs',
    'static',
    'openapi.json',
    'me',
    '',
    '.',
    '..',
    '%2e%2e',
    '%zz',
    '%',
    'Users',
    '*',
  ),
  id,
  fc.string({ unit: 'binary', maxLength: 20 }).map(encodeSafely),
  fc.string({ unit: 'grapheme-ascii', maxLength: 200 }),
)
const fieldName = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      ...['id', 'id_str', ...collections.flatMap(({ fields }) => Object.keys(fields))],
      'user_id_str',
      'items.sku',
      'created_at',
      '*',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.constantFrom('', '.', '__proto__', 'constructor', 'items.', 'a.b.c.d.e', ' name ', 'password'),
      fc.string({ maxLength: 10 }),
    ),
  },
)
const selection = fc
  .array(fieldName, { maxLength: 5 })
  .map((names): [string, string] => ['fields', encodeSafely(names.join())])
const anyParameter = fc.tuple(
  fc.oneof(
    fc.constantFrom(
      'limit',
      'before_id',
      'before_time',
      'after_id',
      'include_total',
      'status',
      'user_id',
      'user_id_str',
      'fields',
      'email',
    ),
    fc.string({ maxLength: 10 }).map(encodeSafely),
  ),
  fc.oneof(
    id,
    fc.constantFrom('true', 'paid', 'failed', 'a@b.cd', '%00', '%ff', '', '-1', '1e9', '1,2'),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.string({ unit: 'binary', maxLength: 20 }).map(encodeSafely),
  ),
)
const parameter = fc.oneof({ weight: 3, arbitrary: anyParameter }, { weight: 1, arbitrary: selection })
const query = fc
  .array(parameter, { maxLength: 4 })
  .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'))
const path = fc.oneof(
  fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
  fc.tuple(fc.constantFrom(...names), id).map((parts) => `/v1/${parts.join('/')}`),
  fc.constantFrom(...names).map((name) => `/v1/${name}`),
)
/** A path and a query, half of it likely to lead somewhere. */
export const randomTarget = fc
  .tuple(path, query)
  .map(([path, query]) => (query === '' ? path : `${path}?${query}`))

const oddValue = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.integer({ min: -1, max: 60 }),
  likelyId,
  longDigits,
  likelyId.map(String),
  fc.double(),
  fc.constantFrom(
    null,
    '',
    '0',
    '\u0000',
    '\ud800',
    '2025-01-01T00:00:00Z',
    2 ** 31,
    2 ** 53,
    -(2 ** 63),
    1e308,
    [],
    {},
  ),
)
const sample = fc.constantFrom(
  ...Object.entries(sampleOf).map(([name, make]): [string, object] => [
    name,
    (make as (...ids: bigint[]) => object)(firstId, firstId + 1n),
  ]),
)
// An id that fits, its twin, a fault, or nothing at all: the rest of the body is right.
const oddFields = (fields: readonly string[]) => {
  const twins = fields.filter((field) => field.endsWith('_id')).map((field) => `${field}_str`)
  const other = [...twins, 'id', 'id_str', 'total_amount_str', 'updated_at', '__proto__', 'x']
  return fc.oneof(
    fc.constant({}),
    fc.dictionary(fc.constantFrom(...fields), likelyId, { maxKeys: 2 }),
    fc.dictionary(fc.constantFrom(...twins, 'id_str'), likelyId.map(String), { maxKeys: 2 }),
    fc.dictionary(fc.constantFrom(...fields, ...other), oddValue, { maxKeys: 3 }),
  )
}
const almostRight = sample.chain(([name, body]) =>
  fc
    .tuple(fc.subarray(Object.keys(body)), oddFields(Object.keys(body)), fc.nat({ max: 500 }))
    .map(([omitted, odd, number]) => {
      // Not too often, or hardly anything would be created.
      const kept = Object.entries(body).filter(([field]) => omitted.length > 1 || !omitted.includes(field))
      const email = 'email' in body ? { email: `person.${number}@example.com` } : {}
      return { name, text: writeExact({ ...Object.fromEntries(kept), ...email, ...odd }) }
    }),
)
const anyBody = fc.oneof(
  { weight: 4, arbitrary: almostRight },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constantFrom(...names),
      text: fc.oneof(
        fc.json(),
        fc.string({ unit: 'binary', maxLength: 50 }),
        fc.constantFrom('', '[', '1e400', '{"a":1}}', `[${firstId}]`, `{"user_id":${'9'.repeat(5000)}}`),
      ),
    }),
  },
)
const writeParts = fc.record({
  method: fc.constantFrom('POST', 'POST', 'PUT', 'PATCH'),
  body: anyBody,
  id: fc.oneof({ weight: 4, arbitrary: likelyId.map(String) }, { weight: 1, arbitrary: id }),
  isPatchType: fc.boolean(),
  oddType: fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'text/plain',
        'application/json; charset=utf-16',
        'a',
        'multipart/form-data',
      ),
    },
  ),
})

/** A method, reads more often than others. */
export const randomMethod = fc.constantFrom(
  ...['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'],
)

/** A create, a replace or an update with a body that is right, almost right or nonsense. */
export const randomWrite: fc.Arbitrary<RandomWrite> = writeParts.map(
  ({ method, body: { name, text }, id, isPatchType, oddType }) => ({
    method,
    path: method === 'POST' ? `/v1/${name}` : `/v1/${name}/${id}`,
    type:
      oddType ?? (method === 'PATCH' && isPatchType ? 'application/merge-patch+json' : 'application/json'),
    body: text,
  }),
)

function encodeSafely(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
