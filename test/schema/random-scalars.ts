import fc from 'fast-check'
import type { Json } from '../../src/schema/json-schema.js'
import { type Draft, drafted, Integer, times } from './schema-drafts.js'

/** What the schemas have in them. */
export interface Contents {
  /** Alternatives: `anyOf`, `oneOf`, `if`, lists of types. */
  readonly choices: boolean
  /** 64-bit integers, BigInts, decimal strings, unsafe Numbers; or only those that are declared. */
  readonly wide: boolean | 'declared'
  /** Values that no schema describes, and members that none names. */
  readonly open: boolean
}

/** Strings, also those that JSON escapes. */
export const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\ud800', 'é', '😀'), maxLength: 60 }),
)
const anyDate = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })

/** Safe integers. */
export const anyInteger = fc.integer()
const unsafeInteger = fc
  .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  .filter((value) => !Number.isSafeInteger(Number(value)))

/** Integers beyond 2^53, as BigInts. */
export const asBigInt = unsafeInteger.map((digits) => new Integer(digits, 'bigint'))
const asText = unsafeInteger.map((digits) => new Integer(digits, 'text'))
const asShortText = anyInteger.map((digits) => new Integer(BigInt(digits), 'text'))
const signed = fc.oneof(asBigInt, asText, asShortText, anyInteger)
const unsigned = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }).map((digits) => new Integer(digits, 'bigint')),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((digits) => new Integer(digits, 'text')),
  fc.nat(),
)

function anyNumber({ wide }: Contents): fc.Arbitrary<unknown> {
  const bounds = wide ? { min: -1e6, max: 1e6 } : {}
  const fraction = fc.double({ noNaN: true, noDefaultInfinity: true, ...bounds })
  return wide === true ? fc.oneof(fraction, anyInteger, asBigInt) : fc.oneof(fraction, anyInteger)
}

/** A scalar of which there can be no doubt which alternative it is for. */
export function plainDraft(contents: Contents): fc.Arbitrary<Draft> {
  return fc.oneof(
    drafted({ type: 'string' }, anyText),
    drafted({ type: 'integer' }, contents.wide === true ? fc.oneof(anyInteger, asBigInt) : anyInteger),
    drafted({ type: 'boolean' }, fc.boolean()),
    drafted({ type: 'number' }, anyNumber(contents)),
  )
}

const wideDraft = fc
  .constantFrom('int64', 'uint64')
  .chain((format) => drafted({ type: 'integer', format }, format === 'int64' ? signed : unsigned))

const dateDraft = fc
  .constantFrom(['date-time', 0, 24] as const, ['date', 0, 10] as const, ['time', 11, 24] as const)
  .chain(([format, start, end]) => {
    const text = anyDate.map((date) => date.toISOString().slice(start, end))
    return drafted({ type: 'string', format }, fc.oneof(anyDate, text))
  })

const constantDraft = fc
  .constantFrom<Json>('a', 1, true, [1, 'b'])
  .chain((value) => drafted({ const: value }, fc.constant(value)))

function openDraft(contents: Contents): fc.Arbitrary<Draft> {
  const scalar = fc.oneof(anyText, fc.boolean(), fc.constant(null), anyNumber(contents))
  const numbers = fc.array(anyNumber(contents), { maxLength: 3 })
  const value = fc.oneof(
    scalar,
    numbers,
    fc.record({ key: scalar, keys: fc.array(numbers, { maxLength: 2 }) }),
  )
  return fc.constantFrom<Json>({}, true).chain((schema) => drafted(schema, value))
}

function nullableDraft(contents: Contents): fc.Arbitrary<Draft> {
  const isNull = times(fc.boolean())
  return fc.tuple(plainDraft(contents), isNull).map(([{ schema, values }, nulls]) => ({
    schema: { ...(schema as object), nullable: true },
    values: values.map((value, index) => (nulls[index] ? null : value)),
  }))
}

/** Any scalar. */
export function scalarDraft(contents: Contents): fc.Arbitrary<Draft> {
  return fc.oneof(
    { weight: 6, arbitrary: plainDraft(contents) },
    { weight: 2, arbitrary: dateDraft },
    { weight: 2, arbitrary: nullableDraft(contents) },
    { weight: 1, arbitrary: constantDraft },
    ...(contents.wide === false ? [] : [{ weight: 6, arbitrary: wideDraft }]),
    ...(contents.open ? [{ weight: 2, arbitrary: openDraft(contents) }] : []),
  )
}
