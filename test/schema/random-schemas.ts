import fc from 'fast-check'
import type { Json } from '../../src/schema/json-schema.js'
import { anyInteger, anyText, asBigInt, type Contents, plainDraft, scalarDraft } from './random-scalars.js'
import { type Draft, drafted, referredTo, type Sample, sampleOf, self, times } from './schema-drafts.js'

/** Random schemas with payloads that are made for them. */
export function anySample(contents: Contents): fc.Arbitrary<Sample> {
  return fc
    .tuple(objectDraft(contents, 3), fc.constantFrom('local' as const, 'shared' as const))
    .map(([draft, refs]) => sampleOf(draft, refs))
}

function anyDraft(contents: Contents, level: number): fc.Arbitrary<Draft> {
  if (level === 0) return scalarDraft(contents)
  return fc.oneof(
    { weight: 4, arbitrary: scalarDraft(contents) },
    { weight: 2, arbitrary: objectDraft(contents, level - 1) },
    { weight: 2, arbitrary: arrayDraft(contents, level - 1) },
    {
      weight: 1,
      arbitrary: anyDraft(contents, level - 1)
        .filter(isNamable)
        .map(referredTo),
    },
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

function schemaOf(members: readonly Member[]): Record<string, Json> {
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(({ name, draft }) => [name, draft.schema])),
    required: members.filter(({ required }) => required).map(({ name }) => name),
  }
}

function valuesOf(members: readonly Member[], more: (index: number) => object = () => ({})): unknown[] {
  return [0, 1, 2].map((index) => {
    const present = members.filter((member) => member.required || member.present[index])
    return {
      ...Object.fromEntries(present.map(({ name, draft }) => [name, draft.values[index]])),
      ...more(index),
    }
  })
}

// With a member that the schema does not have.
function closedObject(members: readonly Member[]): Draft {
  return { schema: schemaOf(members), values: valuesOf(members, () => ({ z_hidden: 'z_hidden' })) }
}

function recursiveObject(members: readonly Member[]): Draft {
  const schema = schemaOf(members)
  const values = valuesOf(members)
  const properties = {
    ...(schema.properties as object),
    z_next: self,
    z_more: { type: 'array', items: self },
  }
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

function choiceDraft(contents: Contents, level: number): fc.Arbitrary<Draft> {
  const kinds = fc
    .tuple(membersDraft(contents, level), membersDraft(contents, level))
    .map((all) => all.map(kind))
  const nothing: Draft = { schema: { type: 'null' }, values: [null, null, null] }
  const orNull = anyDraft(contents, level)
    .filter(({ schema }) => !isDated(schema))
    .map((one) => [one, nothing])
  const named = fc.oneof(
    fc.tuple(kinds, fc.constantFrom('anyOf', 'oneOf')),
    fc.tuple(orNull, fc.constant('anyOf')),
  )
  const scalar = fc.oneof(
    anyText,
    anyInteger,
    fc.constant(null),
    ...(contents.wide === true ? [asBigInt] : []),
  )
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(named, times(fc.nat(1)))
        .map(([[drafts, keyword], picks]) => choice(drafts, keyword, picks)),
    },
    { weight: 1, arbitrary: drafted({ type: ['string', 'integer', 'null'] }, scalar) },
  )
}

function kind(members: readonly Member[], number: number): Draft {
  const { properties, required, ...schema } = schemaOf(members)
  const name = `kind ${number}`
  return {
    schema: {
      ...schema,
      properties: { z_kind: { const: name }, ...(properties as object) },
      required: ['z_kind', ...(required as string[])],
    },
    values: valuesOf(members, () => ({ z_kind: name })),
  }
}

function choice(options: readonly Draft[], keyword: string, picks: readonly number[]): Draft {
  return {
    schema: { [keyword]: options.map(({ schema }) => schema) },
    values: [0, 1, 2].map((index) => options[picks[index] ?? 0]?.values[index]),
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
