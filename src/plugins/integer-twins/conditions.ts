import type { Ajv } from 'ajv'
import { utcDateTime } from '../../http/date-time.js'
import { newAjv } from '../../json-schema/ajv.js'
import {
  int64RangeOf,
  isSchemaObject,
  type Json,
  mapSchema,
  type SchemaObject,
  schemaList,
} from '../../json-schema/json-schema.js'
import { partsOf } from '../../json-schema/parts.js'
import { type Alternative, SchemaReader } from '../../json-schema/reader.js'
import { twinName } from '../../json-schema/twins.js'

export class Conditions {
  readonly #reader: SchemaReader
  readonly #validators: [Ajv | null, Ajv | null] = [null, null]

  constructor(reader: SchemaReader) {
    this.#reader = reader
  }

  /** One that cannot be tested may always hold. */
  test({ condition, isMet }: Omit<Alternative, 'schema'>): (value: unknown, formats: boolean) => boolean {
    try {
      const schema = withTwins(this.#reader.bundle(condition)) as object
      const [plain, withFormats] = [this.#validator(0).compile(schema), this.#validator(1).compile(schema)]
      return function holds(value, formats) {
        try {
          return (formats ? withFormats : plain)(value) === isMet
        } catch {
          return true
        }
      }
    } catch {
      return () => true
    }
  }

  #validator(index: 0 | 1): Ajv {
    this.#validators[index] ??= newAjv({ $data: true, formats, validateFormats: index === 1 })
    return this.#validators[index]
  }
}

/** Integers are judged by their digits, not by a format. */
const formats = {
  'date-time': (text: string) => utcDateTime(text) !== null,
  uuid: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
} as const

function withTwins(schema: Json): Json {
  const reader = new SchemaReader()
  return mapSchema(schema, (changed, { properties }) => {
    const names = Object.keys(isSchemaObject(properties) ? properties : {}).filter((name) =>
      acceptsTwin(reader, reader.absolute((properties as SchemaObject)[name] as Json, schema)),
    )
    if (names.length === 0) return changed
    const required = schemaList(changed.required)
    const either = names.filter((name) => required.includes(name)).map(requiredOrTwin)
    return {
      ...changed,
      properties: {
        ...Object.fromEntries(names.map((name) => [twinName(name), true])),
        ...(changed.properties as SchemaObject),
      },
      required: required.filter((name) => !names.includes(name as string)),
      ...(either.length > 0 && { allOf: [...schemaList(changed.allOf), ...either] }),
    }
  })
}

function requiredOrTwin(name: string): Json {
  return { anyOf: [{ required: [name] }, { required: [twinName(name)] }] }
}

function mayDeclareInt64(schema: SchemaObject): boolean {
  return int64RangeOf(schema.type === undefined ? { ...schema, type: 'integer' } : schema) !== null
}

export function acceptsTwin(
  reader: SchemaReader,
  schema: Json | undefined,
  seen: Set<SchemaObject> = new Set(),
): boolean {
  const fresh = partsOf(reader, [schema ?? true]).filter((part) => !seen.has(part))
  for (const part of fresh) seen.add(part)
  const isInteger = fresh.some(({ type }) => [type].flat().includes('integer'))
  if (isInteger && fresh.some(mayDeclareInt64)) return true
  return fresh
    .flatMap(({ items, prefixItems, additionalItems }) => [
      ...[items ?? []].flat(),
      ...schemaList(prefixItems),
      additionalItems ?? true,
    ])
    .some((item) => acceptsTwin(reader, item as Json, seen))
}
