import { type CompileSerializer, choose, isLargeInteger, type Option } from '../schema/alternatives.js'
import type { Json } from '../schema/json-schema.js'
import { containsInt64, isInt64, type Shape } from '../schema/shape.js'
import { exactJson, textOf } from './exact-json.js'
import { int64Digits } from './int64.js'
import { objectWriter, type Write } from './object-writer.js'
import { ownFields, whole } from './selection.js'

type Stringify = (value: unknown) => string

export function writerCompiler(twins: boolean, compileSerializer: CompileSerializer) {
  const writers = new Map<Shape, Write>()
  const serializers = new Map<string, Stringify>()
  const compiler = { twins, writerOf }

  function writerOf(shape: Shape): Write {
    const known = writers.get(shape)
    if (known !== undefined) return known
    // Known before it is compiled, for shapes that contain themselves.
    writers.set(shape, (value, selection) => compiled(value, selection))
    const compiled = guarded(shape, compile(shape))
    writers.set(shape, compiled)
    return compiled
  }

  // Only the types that the shape allows, and null where it may be null.
  function guarded(shape: Shape, write: Write): Write {
    const { allows, nullable } = shape
    const isLarge = (value: unknown): boolean => twins && isLargeInteger(value, isInt64(shape))
    if (allows === undefined && !nullable) return write
    return (value, selection) => {
      if (value === null && nullable) return 'null'
      if (allows !== undefined && !allows(value) && !isLarge(value)) throw mismatch('the types of its schema')
      return write(value, selection)
    }
  }

  function compile(shape: Shape): Write {
    switch (shape.kind) {
      case 'text': {
        const { format } = shape
        if (format === 'unsafe') return serializerOf({ type: 'string', format })
        const writeOther = serializerOf({ type: 'string', ...(format !== null && { format }) })
        return (value) => (typeof value === 'string' ? textOf(value) : writeOther(value))
      }
      case 'integer': {
        const { int64 } = shape
        if (int64 !== null) return (value) => int64Digits(value, int64) ?? 'null'
        return numberWriter('integer', Number.isInteger)
      }
      case 'number':
        return numberWriter('number', Number.isFinite)
      case 'boolean': {
        const writeOther = serializerOf({ type: 'boolean' })
        return (value) => (typeof value === 'boolean' ? `${value}` : writeOther(value))
      }
      case 'null':
        return () => 'null'
      case 'constant':
        return () => shape.json
      case 'anything':
        return (value, selection = whole) => exactJson(ownFields(value, selection), twins) ?? 'null'
      case 'array':
        return arrayWriter(writerOf(shape.items))
      case 'tuple':
        if (twins && containsInt64(shape))
          throw new TypeError('a tuple holds 64-bit integers, which get no twins there')
        return serializerOf(shape.schema)
      case 'choice':
        return choiceWriter(shape.options.map((option) => ({ ...option, write: writerOf(option.shape) })))
      case 'object':
        return objectWriter(compiler, shape)
    }
  }

  function numberWriter(type: string, isUsual: (value: unknown) => boolean): Write {
    const writeOther = serializerOf({ type })
    return (value) =>
      isUsual(value) || (twins && typeof value === 'bigint')
        ? `${value as number | bigint}`
        : writeOther(value)
  }

  /** The app's own serializer of a schema, compiled when it is first needed. Its errors do not contain the value. */
  function serializerOf(schema: Json): Stringify {
    const name = JSON.stringify(schema)
    return (value) => {
      try {
        const write = serializers.get(name) ?? compileSerializer(schema)
        serializers.set(name, write)
        return write(value)
      } catch {
        throw new TypeError(`a value of type ${typeof value} cannot be written by the schema ${name}`)
      }
    }
  }

  return compiler
}

function mismatch(expected: string): TypeError {
  return new TypeError(`The value does not match ${expected}`)
}

function choiceWriter(options: readonly (Option & { readonly write: Write })[]): Write {
  return function writeChoice(value, selection) {
    const json = choose(options, value, ({ write }) => write(value, selection))
    if (json === undefined) throw mismatch('any of its schemas')
    return json
  }
}

function arrayWriter(writeItem: Write): Write {
  return function writeArray(value, selection) {
    if (value === null) return '[]'
    if (!Array.isArray(value)) throw mismatch('an array')
    let json = '['
    for (let index = 0; index < value.length; index++) {
      if (index > 0) json += ','
      json += writeItem(value[index], selection)
    }
    return `${json}]`
  }
}
