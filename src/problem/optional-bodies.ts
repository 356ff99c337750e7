import { isSchemaObject, type Json, type SchemaObject, schemaList } from '../json-schema/json-schema.js'

/** Fastify validates an absent body as `null`; @fastify/swagger says of each body that it is required. */
export function tellOptionalBodies(document: object): void {
  const { paths = {}, components } = document as Document
  const schemas = components?.schemas ?? {}
  for (const item of Object.values(paths)) {
    for (const { requestBody } of Object.values(item)) {
      const contents = Object.values(requestBody?.content ?? {})
      if (requestBody === undefined || contents.length === 0) continue
      if (contents.every(({ schema = {} }) => allowsNull(schema, schemas, 0))) requestBody.required = false
    }
  }
}

interface Document {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Json>> }
}

interface Operation {
  readonly requestBody?: {
    required?: boolean
    readonly content?: Readonly<Record<string, { readonly schema?: Json }>>
  }
}

const maxDepth = 10
const ofComponents = '#/components/schemas/'

function allowsNull(schema: Json, schemas: Readonly<Record<string, Json>>, depth: number): boolean {
  if (!isSchemaObject(schema)) return schema === true
  if (depth > maxDepth) return false
  const allows = (part: Json): boolean => allowsNull(part, schemas, depth + 1)
  const { $ref, anyOf, oneOf, allOf } = schema
  if (typeof $ref === 'string') {
    const name = $ref.startsWith(ofComponents) ? $ref.slice(ofComponents.length) : ''
    if (!Object.hasOwn(schemas, name) || !allows(schemas[name] as Json)) return false
  }
  const alternatives = [anyOf, oneOf].filter((list) => list !== undefined)
  return (
    ownKeywordsAllowNull(schema) &&
    schemaList(allOf).every(allows) &&
    alternatives.every((list) => schemaList(list).some(allows))
  )
}

function ownKeywordsAllowNull({ type, nullable, enum: values, const: value, not }: SchemaObject): boolean {
  const isOfType = type === undefined || nullable === true || [type].flat().includes('null')
  const isValue = (values === undefined || schemaList(values).includes(null)) && (value ?? null) === null
  return isOfType && isValue && not === undefined
}
