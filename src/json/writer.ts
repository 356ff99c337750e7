import { type CompileSerializer, choose, isLargeInteger, type Option } from '../json-schema/alternatives.js'
import type { Json } from '../json-schema/json-schema.js'
import type { Shape, TextFormat } from '../json-schema/shape.js'
import { isInt64 } from '../json-schema/twins.js'
import { exactJson } from './exact-json.js'
import { int64Digits } from './int64.js'
import { textOf } from './json-text.js'
import { objectWriter, type Write } from './object-writer.js'
import { ownFields, whole } from './selection.js'

/** Compiles writers of shapes; each shape once. */
export class WriterCompiler {
  /** Whether integers get string twins. */
  readonly twins: boolean
  readonly #writers = new Map<Shape, Write>()
  readonly #scalars = new Map<ScalarKind | TextFormat, Write>()
  readonly #serializerOf: (schema: Json) => (value: unknown) => string

  constructor(twins: boolean, compile: CompileSerializer) {
    this.twins = twins
    this.#serializerOf = serializersOf(compile)
  }

  writerOf(shape: Shape): Write {
    const known = this.#writers.get(shape)
    if (known !== undefined) return known
    // Known before it is compiled, for shapes that contain themselves.
    this.#writers.set(shape, (value, onLost, selection) => compiled(value, onLost, selection))
    const compiled = this.#guarded(shape, this.#compile(shape))
    this.#writers.set(shape, compiled)
    return compiled
  }

  // Only the types that the shape allows, and null where it may be null.
  #guarded(shape: Shape, write: Write): Write {
    const { allows, nullable } = shape
    const isLarge = (value: unknown): boolean => this.twins && isLargeInteger(value, isInt64(shape))
    if (allows === undefined && !nullable) return write
    return (value, onLost, selection) => {
      if (value === null && nullable) return 'null'
      if (allows !== undefined && !allows(value) && !isLarge(value)) throw mismatch('the types of its schema')
      return write(value, onLost, selection)
    }
  }

  #compile(shape: Shape): Write {
    switch (shape.kind) {
      case 'text':
        return this.#scalarWriter(shape.kind, shape.format)
      case 'integer': {
        const { int64 } = shape
        if (int64 !== null) return (value, onLost) => int64Digits(value, int64, onLost) ?? 'null'
        return this.#scalarWriter(shape.kind)
      }
      case 'number':
      case 'boolean':
        return this.#scalarWriter(shape.kind)
      case 'null':
        return () => 'null'
      case 'constant':
        return () => shape.json
      case 'anything':
        return (value, _onLost, selection = whole) =>
          exactJson(ownFields(value, selection, this.twins), this.twins) ?? 'null'
      case 'array':
        return arrayWriter(this.writerOf(shape.items))
      case 'tuple':
        return this.#serializerOf(shape.schema)
      case 'choice':
        return choiceWriter(
          shape.options.map((option) => ({ ...option, write: this.writerOf(option.shape) })),
        )
      case 'object':
        return objectWriter(this, shape)
    }
  }

  #scalarWriter(kind: ScalarKind, format: TextFormat | null = null): Write {
    const key = format ?? kind
    const known = this.#scalars.get(key)
    if (known !== undefined) return known
    const type = kind === 'text' ? 'string' : kind
    const writeOther = this.#serializerOf(format === null ? { type } : { type, format })
    const write = scalarWriter(kind, format, this.twins, writeOther)
    this.#scalars.set(key, write)
    return write
  }
}

function mismatch(expected: string): TypeError {
  return new TypeError(`The value does not match ${expected}`)
}

function choiceWriter(options: readonly (Option & { readonly write: Write })[]): Write {
  return function writeChoice(value, onLost, selection) {
    const json = choose(options, value, ({ write }) => write(value, onLost, selection))
    if (json === undefined) throw mismatch('any of its schemas')
    return json
  }
}

type ScalarKind = 'text' | 'integer' | 'number' | 'boolean'

function scalarWriter(
  kind: ScalarKind,
  format: TextFormat | null,
  exact: boolean,
  writeOther: (value: unknown) => string,
): Write {
  switch (kind) {
    case 'text':
      if (format === 'unsafe') return writeOther
      return (value) => (typeof value === 'string' ? textOf(value) : writeOther(value))
    case 'integer':
      return numberWriter(Number.isInteger, exact, writeOther)
    case 'number':
      return numberWriter(Number.isFinite, exact, writeOther)
    case 'boolean':
      return (value) => (typeof value === 'boolean' ? `${value}` : writeOther(value))
  }
}

function numberWriter(
  isUsual: (value: unknown) => boolean,
  exact: boolean,
  writeOther: (value: unknown) => string,
): Write {
  return (value) =>
    isUsual(value) || (exact && typeof value === 'bigint') ? `${value as number | bigint}` : writeOther(value)
}

function arrayWriter(writeItem: Write): Write {
  return function writeArray(value, onLost, selection) {
    if (value === null) return '[]'
    if (!Array.isArray(value)) throw mismatch('an array')
    let json = '['
    for (let index = 0; index < value.length; index++) {
      if (index > 0) json += ','
      json += writeItem(value[index], onLost, selection)
    }
    return `${json}]`
  }
}

/** An error does not contain the value. */
function serializersOf(compile: CompileSerializer): (schema: Json) => (value: unknown) => string {
  const known = new Map<string, (value: unknown) => string>()
  return function serializerOf(schema) {
    const name = JSON.stringify(schema)
    let write: ((value: unknown) => string) | undefined
    return function writeByApp(value) {
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
