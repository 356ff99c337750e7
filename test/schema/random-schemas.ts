import fc from 'fast-check'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'

/** What the schemas have in them. */
interface Contents {
  /** Alternatives: `anyOf`, `oneOf`, `if`, lists of types. */
  readonly choices: boolean
  /** 64-bit integers, BigInts, decimal strings, unsafe Numbers; or only those that are declared. */
  readonly wide: boolean | 'declared'
  /** Values that no schema describes, and members that none names. */
  readonly open: boolean
}

/** A schema in which references are still what they refer to, and three values that are made for it. */
interface Draft {
  readonly schema: Json
  readonly values: readonly unknown[]
}

/** Random schemas, the shared schemas that they refer to, and payloads that are made for them. */
export function anySample(contents: Contents) {
  return fc
    .tuple(objectDraft(contents, 3), fc.constantFrom('local' as const, 'shared' as const))
    .map(([draft, refs]) => sampleOf(draft, refs))
}

/** An integer in one of the forms in which handlers have it. */
class Integer {
  readonly given: bigint | string

  constructor(given: bigint | string) {
    this.given = given
  }
}

function times<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value[]> {
  return fc.array(value, { minLength: 3, maxLength: 3 })
}

function drafted(schema: Json, value: fc.Arbitrary<unknown>): fc.Arbitrary<Draft> {
  return times(value).map((values) => ({ schema, values }))
}

const target = '$target'

/** The schema that refers to the nearest one around it that is referred to. */
const self: Json = { [target]: 'self' }

/** The draft with a reference in place of the schema. */
function referredTo({ schema, values }: Draft): Draft {
  const refers = typeof schema === 'object' && schema !== null && target in schema
  return { schema: refers || typeof schema !== 'object' ? schema : { [target]: schema }, values }
}

/** The sample of a draft: with what it refers to among its own definitions, or as shared schemas. */
function sampleOf({ schema, values }: Draft, refs: 'local' | 'shared') {
  const definitions: Record<string, Json> = {}
  const place = (part: Json, around: string): Json => {
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.map((one) => place(one, around))
    const referred = (part as Record<string, Json>)[target]
    if (referred === 'self') return { $ref: around }
    if (referred === undefined)
      return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, place(one, around)]))
    const id = `s${Object.keys(definitions).length}`
    const $ref = refs === 'local' ? `#/definitions/${id}` : `${id}#`
    definitions[id] = {}
    const placed = place(referred, $ref) as object
    definitions[id] = refs === 'local' ? { ...placed } : { $id: id, ...placed }
    return { $ref }
  }
  const root = { type: 'object', required: ['root'], properties: { root: place(schema, '') } }
  return {
    schema: refs === 'local' ? { ...root, definitions } : root,
    shared: (refs === 'local' ? {} : definitions) as SchemaStore,
    payloads: values.map((value) => payloadOf({ root: value })),
  }
}

const firstStandIn = 7_777_000_000_000

/** A payload as a handler hands it over, and the same for a writer that cannot write long integers. */
function payloadOf(value: unknown) {
  const digits: string[] = []
  return {
    given: replaced(value, ({ given }) => given),
    /** The payload with a safe Number in place of each integer that is no such Number. */
    standIn: replaced(value, ({ given }) => firstStandIn + digits.push(String(given)) - 1),
    /** What the JSON of the stand-in stands for. */
    exact: (json: string) =>
      json.replace(/\b7777\d{9}\b/g, (token) => digits[Number(token) - firstStandIn] ?? token),
  }
}

function replaced(value: unknown, by: (integer: Integer) => unknown): unknown {
  if (value instanceof Integer) return by(value)
  if (Array.isArray(value)) return value.map((item) => replaced(item, by))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one, by)]))
}

/** Strings, also those that JSON escapes. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\ud800', 'é', '😀'), maxLength: 60 }),
)
const anyDate = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })

/** Safe integers, and those beyond 2^53 as BigInts and as texts. */
const anyInteger = fc.integer()
const unsafeInteger = fc
  .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  .filter((value) => !Number.isSafeInteger(Number(value)))
const asBigInt = unsafeInteger.map((digits) => new Integer(digits))
const asText = fc.oneof(unsafeInteger, anyInteger).map((digits) => new Integer(`${digits}`))
const signed = fc.oneof(asBigInt, asText, anyInteger)
const unsigned = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }).map((digits) => new Integer(digits)),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((digits) => new Integer(`${digits}`)),
  fc.nat(),
)

function anyNumber({ wide }: Contents): fc.Arbitrary<unknown> {
  const bounds = wide ? { min: -1e6, max: 1e6 } : {}
  const fraction = fc.double({ noNaN: true, noDefaultInfinity: true, ...bounds })
  return wide === true ? fc.oneof(fraction, anyInteger, asBigInt) : fc.oneof(fraction, anyInteger)
}

/** A scalar of which there can be no doubt which alternative it is for. */
function plainDraft(contents: Contents): fc.Arbitrary<Draft> {
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
  const object = fc.record({ key: scalar, keys: fc.array(numbers, { maxLength: 2 }) })
  const value = fc.oneof(scalar, numbers, object)
  return fc.constantFrom<Json>({}, true).chain((schema) => drafted(schema, value))
}

function nullableDraft(contents: Contents): fc.Arbitrary<Draft> {
  return fc.tuple(plainDraft(contents), times(fc.boolean())).map(([{ schema, values }, nulls]) => ({
    schema: { ...(schema as object), nullable: true },
    values: values.map((value, index) => (nulls[index] ? null : value)),
  }))
}

function scalarDraft(contents: Contents): fc.Arbitrary<Draft> {
  return fc.oneof(
    { weight: 6, arbitrary: plainDraft(contents) },
    { weight: 2, arbitrary: dateDraft },
    { weight: 2, arbitrary: nullableDraft(contents) },
    { weight: 1, arbitrary: constantDraft },
    ...(contents.wide === false ? [] : [{ weight: 6, arbitrary: wideDraft }]),
    ...(contents.open ? [{ weight: 2, arbitrary: openDraft(contents) }] : []),
  )
}

function anyDraft(contents: Contents, level: number): fc.Arbitrary<Draft> {
  if (level === 0) return scalarDraft(contents)
  const referred = anyDraft(contents, level - 1)
    .filter(isNamable)
    .map(referredTo)
  return fc.oneof(
    { weight: 4, arbitrary: scalarDraft(contents) },
    { weight: 2, arbitrary: objectDraft(contents, level - 1) },
    { weight: 2, arbitrary: arrayDraft(contents, level - 1) },
    { weight: 1, arbitrary: referred },
    ...(contents.choices ? [{ weight: 2, arbitrary: choiceDraft(contents, level - 1) }] : []),
  )
}

function arrayDraft(contents: Contents, level: number): fc.Arbitrary<Draft> {
  const picks = times(fc.array(fc.nat(2), { maxLength: 4 }))
  return fc.tuple(anyDraft(contents, level), picks).map(([{ schema, values }, picked]) => ({
    schema: { type: 'array', items: schema },
    values: picked.map((indexes) => indexes.map((index) => values[index])),
  }))
}

interface Member {
  readonly name: string
  readonly draft: Draft
  readonly required: boolean
  readonly present: readonly boolean[]
}

const ordinaryName = fc.constantFrom(...['id', 'name', 'created_at', 'x-y', ...'ab"\'\\ä\u2028'])
const anyName = fc
  .oneof(ordinaryName, fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }))
  .filter((name) => !(name in Object.prototype) && !/_str$|^[zp]_|[.,*\s]/.test(name))

function membersDraft(contents: Contents, level: number): fc.Arbitrary<Member[]> {
  const draft = anyDraft(contents, level)
  const member = fc.record({ name: anyName, draft, required: fc.boolean(), present: times(fc.boolean()) })
  return fc.uniqueArray(member, { selector: ({ name }) => name, maxLength: 4 })
}

function objectDraft(contents: Contents, level: number): fc.Arbitrary<Draft> {
  const members = membersDraft(contents, level)
  return fc.oneof(
    { weight: 4, arbitrary: members.map(closedObject) },
    { weight: 1, arbitrary: members.map(recursiveObject) },
    ...(contents.open ? [{ weight: 1, arbitrary: fc.tuple(members, plainDraft(contents)).map(map) }] : []),
  )
}

function schemaOf(members: readonly Member[]) {
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(({ name, draft }) => [name, draft.schema])),
    required: members.filter(({ required }) => required).map(({ name }) => name),
  }
}

function valuesOf(members: readonly Member[], more: (index: number) => object = () => ({})): unknown[] {
  return [0, 1, 2].map((index) => {
    const present = members.filter((member) => member.required || member.present[index])
    const own = Object.fromEntries(present.map(({ name, draft }) => [name, draft.values[index]]))
    return { ...own, ...more(index) }
  })
}

// With a member that the schema does not have.
function closedObject(members: readonly Member[]): Draft {
  return { schema: schemaOf(members), values: valuesOf(members, () => ({ z_hidden: 'z_hidden' })) }
}

function recursiveObject(members: readonly Member[]): Draft {
  const schema = schemaOf(members)
  const values = valuesOf(members)
  const properties = { ...schema.properties, z_next: self, z_more: { type: 'array', items: self } }
  return {
    ...referredTo({ schema: { ...schema, properties }, values: [] }),
    values: valuesOf(members, (index) => ({ z_next: values[index], z_more: values })),
  }
}

function map([members, rest]: [Member[], Draft]): Draft {
  const schema = { ...schemaOf(members), patternProperties: { '^p_': { type: 'boolean' } } }
  return {
    schema: { ...schema, additionalProperties: rest.schema },
    values: valuesOf(members, (index) => ({ p_a: true, z_rest: rest.values[index], p_b: false })),
  }
}

const nothing: Draft = { schema: { type: 'null' }, values: [null, null, null] }

function choiceDraft(contents: Contents, level: number): fc.Arbitrary<Draft> {
  const members = membersDraft(contents, level)
  const kinds = fc.tuple(members, members).map((all) => all.map(kind))
  const orNull = anyDraft(contents, level)
    .filter(({ schema }) => !isDated(schema))
    .map((one) => [one, nothing])
  const named = fc.oneof(
    fc.tuple(kinds, fc.constantFrom('anyOf', 'oneOf')),
    fc.tuple(orNull, fc.constant('anyOf')),
  )
  const integers = contents.wide === true ? [anyInteger, asBigInt] : [anyInteger]
  const scalar = fc.oneof(anyText, fc.constant(null), ...integers)
  return fc.oneof(
    { weight: 3, arbitrary: fc.tuple(named, times(fc.nat(1))).map(choice) },
    { weight: 1, arbitrary: drafted({ type: ['string', 'integer', 'null'] }, scalar) },
  )
}

function kind(members: readonly Member[], number: number): Draft {
  const { properties, required, ...schema } = schemaOf(members)
  const z_kind = `kind ${number}`
  return {
    schema: {
      ...schema,
      properties: { z_kind: { const: z_kind }, ...properties },
      required: ['z_kind', ...required],
    },
    values: valuesOf(members, () => ({ z_kind })),
  }
}

function choice([[options, keyword], picks]: [[Draft[], string], number[]]): Draft {
  return {
    schema: { [keyword]: options.map(({ schema }) => schema) },
    values: picks.map((pick, index) => options[pick]?.values[index]),
  }
}

// A shared schema that is nullable itself is for examples.
function isNamable({ schema }: Draft): boolean {
  return typeof schema === 'object' && schema !== null && !('nullable' in schema)
}

// A Date in one of several shapes, each of which has a way of its own to write it, is for examples.
function isDated(schema: Json): boolean {
  return /^(?:\{"\$target":)*\{"type":"string","format":"(?:date|time)"/.test(JSON.stringify(schema))
}
