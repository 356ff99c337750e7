import { type CompileSerializer, choose, isLargeInteger, type Option } from '../json-schema/alternatives.js'
import type { Json } from '../json-schema/json-schema.js'
import type { Member, ObjectShape, Shape, TextFormat } from '../json-schema/shape.js'
import {
  isAlwaysTwinned,
  isInt64,
  isTwinned,
  mayBeInteger,
  twinName,
  twinTest,
  twinWriter,
  withTwin,
} from '../json-schema/twins.js'
import { exactJson, jsonValueOf } from './exact-json.js'
import { whole } from './field-tree.js'
import { int64Digits } from './integer-text.js'
import { textOf } from './json-text.js'
import {
  type AppenderFactory,
  type AppendMember,
  generateAppender,
  generateObjectWriter,
  type Write,
  type WriteRest,
  type WrittenMember,
} from './object-writer.js'
import { restWriter } from './rest-writer.js'

/** Compiles writers of shapes; each shape once. */
export class WriterCompiler {
  /** Whether integers get string twins. */
  readonly twins: boolean
  readonly #writers = new Map<Shape, Write>()
  readonly #members = new Map<ObjectShape, readonly WrittenMember[]>()
  readonly #scalars = new Map<ScalarKind | TextFormat, Write>()
  readonly #appenders = new Map<Member, AppenderFactory>()
  readonly #compileSerializer: CompileSerializer
  readonly #serializerOf: (schema: Json) => (value: unknown) => string

  /**
   * @param twins whether integers get string twins
   * @param compile compiles the app's own serializers, which write scalars of unusual types
   */
  constructor(twins: boolean, compile: CompileSerializer) {
    this.twins = twins
    this.#compileSerializer = compile
    this.#serializerOf = serializersOf(compile)
  }

  /** A compiler of writers that write the same without twins. */
  withoutTwins(): WriterCompiler {
    return new WriterCompiler(false, this.#compileSerializer)
  }

  /** The writer of a shape: what fast-json-stringify makes of its schema, with exact integers and their twins. */
  writerOf(shape: Shape): Write {
    const known = this.#writers.get(shape)
    if (known !== undefined) return known
    // Known before it is compiled, for shapes that contain themselves.
    this.#writers.set(shape, (value, onLost) => compiled(value, onLost))
    const compiled = this.guarded(shape, this.#compile(shape))
    this.#writers.set(shape, compiled)
    return compiled
  }

  /** Writes a value that no schema describes. */
  readonly writeAnything: Write = (value) => exactJson(value, this.twins) ?? 'null'

  /** The writer of a shape whose values are written so: null where it may be null, and only the types it allows. */
  guarded(shape: Shape, write: Write): Write {
    const { allows, nullable } = shape
    const isLarge = (value: unknown): boolean => this.twins && isLargeInteger(value, isInt64(shape))
    if (allows === undefined)
      return nullable ? (value, onLost) => (value === null ? 'null' : write(value, onLost)) : write
    return (value, onLost) => {
      if (value === null && nullable) return 'null'
      if (!allows(value) && !isLarge(value)) throw mismatch('the types of its schema')
      return write(value, onLost)
    }
  }

  /** The members of an object; a declared `<name>_str` of a 64-bit integer is its twin and no member of its own. */
  membersOf(shape: ObjectShape): readonly WrittenMember[] {
    const known = this.#members.get(shape)
    if (known !== undefined) return known
    const names = new Set(shape.members.map((member) => member.name))
    const isTaken = (twin: string): boolean => shape.isClosed === true || names.has(twin)
    const twinned = shape.members.filter((member) => this.twins && isTwinned(member.shape))
    const replacing = new Map(twinned.map((member) => [twinName(member.name), member]))
    const members = shape.members
      .filter((member) => {
        const number = replacing.get(member.name)
        return number === undefined || !isAlwaysTwinned(number.shape)
      })
      .map((member) => {
        const number = replacing.get(member.name)
        const hasTwin = this.twins && isTwinned(member.shape)
        return {
          ...member,
          fallback: hasTwin ? withTwin(member.name, member.fallback) : member.fallback,
          write: this.memberWriter(member.name, member.shape, isTaken(twinName(member.name))),
          declaredTwin: number === undefined ? undefined : { of: number.name, isReplaced: twinTest(number) },
        }
      })
    this.#members.set(shape, members)
    return members
  }

  /**
   * What appends a member to the JSON of its object. Code is made of a member once, whatever writes its value.
   *
   * @param member one of those that {@link membersOf} gives
   */
  appenderOf(member: WrittenMember, write = member.write, fallback = member.fallback): AppendMember {
    const make = this.#appenders.get(member) ?? generateAppender(member)
    this.#appenders.set(member, make)
    const append = make(write, fallback)
    const { declaredTwin } = member
    if (declaredTwin === undefined) return append
    return (json, object, onLost) => (declaredTwin.isReplaced(object) ? json : append(json, object, onLost))
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
        return this.writeAnything
      case 'array':
        return arrayWriter(this.writerOf(shape.items))
      case 'tuple':
        return this.#serializerOf(shape.schema)
      case 'choice':
        return choiceWriter(
          shape.options.map((option) => ({ ...option, write: this.writerOf(option.shape) })),
        )
      case 'object':
        return this.#objectWriter(shape)
    }
  }

  /** The writer of scalars, one for all of a type and format. */
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

  /**
   * The writer of a member: of its value, followed by the twin and its key, where it has one.
   *
   * @param isTaken whether the name of the twin is that of another member, or is forbidden: then only a declared 64-bit
   * integer has a twin
   */
  memberWriter(name: string, shape: Shape, isTaken = false): Write {
    const write = this.writerOf(shape)
    const isDeclared = isTwinned(shape)
    if (!this.twins || (isTaken && !isDeclared) || !mayBeInteger(shape)) return write
    const key = `,${JSON.stringify(twinName(name))}:`
    if (shape.kind === 'integer' && shape.int64 !== null) {
      const range = shape.int64
      return function writeInt64Member(value, onLost) {
        const digits = int64Digits(value, range, onLost)
        return digits === null ? `null${key}null` : `${digits}${key}"${digits}"`
      }
    }
    const twinOf = twinWriter(shape)
    return function writeTwinnedMember(value, onLost) {
      const twin = twinOf(value)
      return twin === null ? write(value, onLost) : write(value, onLost) + key + twin
    }
  }

  #objectWriter(shape: ObjectShape): Write {
    const members = this.membersOf(shape)
    const write = generateObjectWriter(members, this.restWriter(shape), shape.alsoRequired)
    const nothing = nullObject(shape)
    return function writeObject(value, onLost) {
      const object = jsonValueOf(value)
      return object === null ? nothing : write(object as object, onLost)
    }
  }

  /** Writes the members of an object that its shape does not declare, each with a comma in front. */
  restWriter(shape: ObjectShape): WriteRest | null {
    return restWriter(this, shape, whole)
  }
}

function mismatch(expected: string): TypeError {
  return new TypeError(`The value does not match ${expected}`)
}

/** JSON of an object whose `toJSON` gives null, and of null where the shape is not nullable. */
export function nullObject(shape: ObjectShape): string {
  return shape.nullable && shape.allows === undefined ? 'null' : '{}'
}

/** Writes a value by the first of the alternatives that it matches. */
export function choiceWriter(options: readonly (Option & { readonly write: Write })[]): Write {
  return function writeChoice(value, onLost) {
    const json = choose(options, value, ({ write }) => write(value, onLost))
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

/** Writes an array, item by item. */
export function arrayWriter(writeItem: Write): Write {
  return function writeArray(value, onLost) {
    if (value === null) return '[]'
    if (!Array.isArray(value)) throw mismatch('an array')
    let json = '['
    for (let index = 0; index < value.length; index++) {
      json += index === 0 ? writeItem(value[index], onLost) : `,${writeItem(value[index], onLost)}`
    }
    return `${json}]`
  }
}

/**
 * Makes writers by the app's own serializers: of tuples, and of scalars of an unusual type, such as a Date or a Number
 * where the schema says string, which are then converted or refused as without this package. Each is compiled when first
 * needed. An error does not contain the value.
 */
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
