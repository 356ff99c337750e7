import type { MatcherCompiler } from '../json-schema/schema-match.js'
import { type Json, mapReferences, type SchemaStore } from '../json-schema/schema-refs.js'
import type { CompileSerializer } from './write.js'

/**
 * Tells alternatives apart as the app's own serializer does: it is asked to write a constant under the schema as a
 * condition. Where a match need not be strict, a BigInt is an integer too, and so is the decimal text of one that is
 * declared to be of 64 bits.
 */
export function serializerMatcher(compile: CompileSerializer, shared: SchemaStore): MatcherCompiler {
  return function compileMatcher(schema, root, strict = false) {
    let stringify: ((value: unknown) => string) | undefined
    return (value) => {
      // Compiled when first needed: most alternatives never are.
      stringify ??= compile(
        strict ? condition(schema, root, {}) : condition(loosened(schema), loosened(root), shared),
      )
      return stringify(value) === holds
    }
  }
}

const holds = '1'

// All documents in one: the references within each then lead to a definition.
function condition(schema: Json, root: Json, shared: SchemaStore): Json {
  const ids = Object.keys(shared)
  const referring = (part: Json, own: number): Json =>
    mapReferences(part, (ref) => {
      const [id = '', pointer = ''] = ref.split('#', 2)
      const index = id === '' ? own : ids.indexOf(id) + 1
      return id !== '' && index === 0 ? ref : `#/definitions/${index}${pointer}`
    })
  const branches = [
    ['if', referring(schema, 0)],
    ['then', { const: Number(holds) }],
    ['else', { const: 0 }],
  ]
  const isAlone = !JSON.stringify(schema).includes('"$ref"')
  const documents = isAlone ? [] : [root, ...ids.map((id) => loosened(shared[id] as Json))]
  const definitions = documents.map((document, index) => [index, referring(withoutId(document), index)])
  return Object.fromEntries([...branches, ['definitions', Object.fromEntries(definitions)]])
}

function withoutId(schema: Json): Json {
  if (!isObject(schema)) return schema
  const { $id: _, ...rest } = schema
  return rest
}

const notJson: Json = { not: { type: ['string', 'number', 'object', 'array', 'boolean', 'null'] } }
const decimalText: Json = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]*)$', not: { type: 'object' } }
const literals = new Set(['const', 'enum', 'default', 'example', 'examples', 'required'])

function loosened(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(loosened)
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema)
  const own = Object.fromEntries(
    entries.map(([keyword, value]) => [keyword, literals.has(keyword) ? value : loosened(value)]),
  )
  const types = [schema.type].flat()
  if (!types.includes('integer') && !types.includes('number')) return own
  const isWide = schema.format === 'int64' || schema.format === 'uint64'
  return { anyOf: [own, notJson, ...(isWide ? [decimalText] : [])] }
}

function isObject(schema: Json): schema is Readonly<Record<string, Json>> {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}
