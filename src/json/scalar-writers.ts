import type { Json } from '../json-schema/schema-refs.js'
import type { Shape } from '../json-schema/schema-shape.js'
import type { CompileSerializer } from './write.js'

/**
 * Makes the writers of scalars by the app's own serializers, so that a value of an unusual type, such as a Date or a
 * Number where the schema says string, is converted or refused as without this package. Each is compiled when first
 * needed. An error does not contain the value.
 */
export function scalarWriters(compile: CompileSerializer): (shape: Shape) => (value: unknown) => string {
  const known = new Map<string, (value: unknown) => string>()
  return function scalarWriter(shape) {
    const schema = schemaOf(shape)
    const name = JSON.stringify(schema)
    let write: ((value: unknown) => string) | undefined
    return function writeScalar(value) {
      if (write === undefined) {
        write = known.get(name) ?? compile(schema)
        known.set(name, write)
      }
      try {
        return write(value)
      } catch {
        throw new TypeError(`a value of type ${typeof value} cannot be written by the schema ${name}`)
      }
    }
  }
}

function schemaOf(shape: Shape): { readonly [keyword: string]: Json } {
  if (shape.kind !== 'text') return { type: shape.kind }
  return shape.format === null ? { type: 'string' } : { type: 'string', format: shape.format }
}
