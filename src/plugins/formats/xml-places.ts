import {
  isSchemaObject,
  type Json,
  type SchemaObject,
  type SchemaStore,
} from '../../json-schema/json-schema.js'
import { isTuple, namelessOf, partsOf, propertiesOf, typesOfParts } from '../../json-schema/parts.js'
import { SchemaReader } from '../../json-schema/reader.js'

/** What a body schema says of an element, as far as XML itself does not. */
export interface XmlPlace {
  readonly kind: 'object' | 'array' | 'text' | 'scalar'
  /** Places of the declared members of an object. */
  readonly members: ReadonlyMap<string, XmlPlace>
  /** Place of the items of an array, or of the other members of an object; `null` if the schema does not say. */
  readonly others: XmlPlace | null
}

/** A place of which the schema does not say whether it is an object, an array or a value: XML does not say it either. */
export interface UnclearPlace {
  /** JSON Pointer in the body. */
  readonly pointer: string
}

/**
 * Returns what a body schema says of XML.
 *
 * @param shared schemas that it refers to
 * @throws TypeError for a reference to nothing
 */
export function xmlPlaceOf(body: Json, shared: SchemaStore): XmlPlace | UnclearPlace {
  const reader = new SchemaReader(shared)
  const known = new Map<string, XmlPlace>()
  const ids = new Map<SchemaObject, number>()
  let unclear: UnclearPlace | null = null

  // The parts of a schema are few, so a recursive schema has a finite number of places.
  function keyOf(parts: readonly SchemaObject[]): string {
    return parts
      .map((part) => {
        const id = ids.get(part) ?? ids.size
        ids.set(part, id)
        return id
      })
      .join()
  }

  function placeOf(schemas: readonly Json[], pointer: string): XmlPlace {
    const parts = partsOf(reader, schemas)
    const key = keyOf(parts)
    const before = known.get(key)
    if (before !== undefined) return before
    const kind = kindOf(parts)
    if (kind === null) unclear ??= { pointer }
    const members = new Map<string, XmlPlace>()
    const place = { kind: kind ?? 'text', members, others: null as XmlPlace | null }
    known.set(key, place)
    if (kind === 'object') {
      for (const [name, declared] of propertiesOf(parts)) {
        members.set(name, placeOf(declared, `${pointer}/${name}`))
      }
    }
    const nameless = kind === 'object' || kind === 'array' ? namelessOf(parts).filter(isSchemaObject) : []
    if (nameless.length > 0) place.others = placeOf(nameless, `${pointer}/${kind === 'array' ? '0' : '*'}`)
    else if (kind === 'array') unclear ??= { pointer: `${pointer}/0` }
    return place
  }

  const root = placeOf([reader.absolute(body, body)], '')
  return unclear ?? root
}

function kindOf(parts: readonly SchemaObject[]): XmlPlace['kind'] | null {
  const types = new Set(typesOfParts(parts))
  types.delete('null')
  if (types.size === 0 || isTuple(parts)) return null
  if (types.has('object') || types.has('array')) {
    return types.size > 1 ? null : types.has('object') ? 'object' : 'array'
  }
  return types.has('string') ? 'text' : 'scalar'
}
