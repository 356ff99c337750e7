import type { Member, ObjectShape, Shape } from '../json-schema/schema-shape.js'
import { isAlwaysTwinned, isWide, mayBeInteger, noTwin, twinName, twinWriter } from '../json-schema/twins.js'
import { isLargeInteger } from '../json-schema/type-tests.js'
import { type Alternative, choose } from './choose.js'
import { exactJson } from './exact-json.js'
import { wideDigits } from './integer-text.js'
import { textOf } from './json-text.js'
import {
  type AppenderFactory,
  type AppendMember,
  generateAppender,
  generateObjectWriter,
  type WriteRest,
} from './object-writer.js'
import { scalarWriters } from './scalar-writers.js'
import type { CompileSerializer, Write, WrittenMember } from './write.js'

/** Compiles writers of shapes; what it has compiled it knows. */
export class WriterCompiler {
  /** Do integers get string twins? */
  readonly twins: boolean
  readonly #writers = new Map<Shape, Write>()
  readonly #members = new Map<ObjectShape, readonly WrittenMember[]>()
  readonly #appenders = new Map<Member, AppenderFactory>()
  readonly #scalarOf: (shape: Shape) => (value: unknown) => string

  /**
   * @param twins whether integers get string twins
   * @param compile compiles the app's own serializers, which write scalars of unusual types
   */
  constructor(twins: boolean, compile: CompileSerializer) {
    this.twins = twins
    this.#scalarOf = scalarWriters(compile)
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
    const isLarge = (value: unknown): boolean => this.twins && isLargeInteger(value, shape)
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
    const twinned = shape.members.filter((member) => this.twins && isWide(member.shape))
    const replacing = new Map(twinned.map((member) => [twinName(member.name), member]))
    const members = shape.members
      .filter((member) => {
        const number = replacing.get(member.name)
        return number === undefined || !isAlwaysTwinned(number.shape)
      })
      .map((member) => {
        const number = replacing.get(member.name)
        const isTwinned = this.twins && isWide(member.shape)
        return {
          ...member,
          fallback: isTwinned ? withTwin(member.name, member.fallback) : member.fallback,
          write: this.memberWriter(member.name, member.shape, names.has(twinName(member.name))),
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
        return textWriter(shape.format === 'unsafe', this.#scalarOf(shape))
      case 'integer': {
        const { wide } = shape
        if (wide !== null) return (value, onLost) => wideDigits(value, wide, onLost) ?? 'null'
        return numberWriter(Number.isInteger, this.twins, this.#scalarOf(shape))
      }
      case 'number':
        return numberWriter(Number.isFinite, this.twins, this.#scalarOf(shape))
      case 'boolean': {
        const writeOther = this.#scalarOf(shape)
        return (value) => (typeof value === 'boolean' ? `${value}` : writeOther(value))
      }
      case 'null':
        return () => 'null'
      case 'constant':
        return () => shape.json
      case 'anything':
        return this.writeAnything
      case 'array':
        return arrayWriter(this.writerOf(shape.items))
      case 'tuple':
        return this.#tupleWriter(shape)
      case 'choice':
        return choiceWriter(
          shape.options.map((option) => ({ ...option, write: this.writerOf(option.shape) })),
        )
      case 'object':
        return this.#objectWriter(shape)
    }
  }

  /** The writer of a member: of its value, followed by the twin and its key, where it has one. */
  memberWriter(name: string, shape: Shape, twinIsDeclared = false): Write {
    const write = this.writerOf(shape)
    const wide = isWide(shape)
    if (!this.twins || (twinIsDeclared && !wide) || !mayBeInteger(shape)) return write
    const key = `,${JSON.stringify(twinName(name))}:`
    if (shape.kind === 'integer' && shape.wide !== null) {
      const range = shape.wide
      return function writeWideMember(value, onLost) {
        const digits = wideDigits(value, range, onLost)
        return digits === null ? `null${key}null` : `${digits}${key}"${digits}"`
      }
    }
    const twinOf = twinWriter(shape)
    return function writeTwinnedMember(value, onLost) {
      const twin = twinOf(value)
      return twin === null ? write(value, onLost) : write(value, onLost) + key + twin
    }
  }

  #tupleWriter(shape: Extract<Shape, { kind: 'tuple' }>): Write {
    const writers = shape.items.map((item) => this.writerOf(item.shape))
    const writeRest = this.writeAnything
    const mayStand = (item: unknown, index: number): boolean => {
      const place = shape.items[index]
      return place === undefined || place.allows(item) || (this.twins && isLargeInteger(item, place.shape))
    }
    return function writeTuple(value, onLost) {
      if (value === null) return '[]'
      if (!Array.isArray(value) || (!shape.rest && value.length > writers.length)) throw mismatch('the tuple')
      // Holes count: `map` would skip them.
      const items = Array.from(value as unknown[], (item, index) => {
        if (!mayStand(item, index)) throw mismatch('the tuple')
        return (writers[index] ?? writeRest)(item, onLost)
      })
      return `[${items.join(',')}]`
    }
  }

  #objectWriter(shape: ObjectShape): Write {
    const members = this.membersOf(shape)
    const write = generateObjectWriter(members, this.restWriter(shape), shape.alsoRequired)
    const nothing = nullObject(shape)
    return function writeObject(value, onLost) {
      const object = withoutToJson(value)
      return object === null ? nothing : write(object as object, onLost)
    }
  }

  /** Writes the members of an object that its shape does not declare, each with a comma in front. */
  restWriter(shape: ObjectShape): WriteRest | null {
    if (shape.rest === null && shape.patterns.length === 0) return null
    const declared = new Set(
      shape.members.flatMap(({ name, shape: one }) =>
        this.twins && isAlwaysTwinned(one) ? [name, twinName(name)] : [name],
      ),
    )
    // Beside these, only the value tells whether a member of that name is there already.
    const twinTests = new Map(
      shape.members
        .filter(({ shape: one }) => this.twins && mayBeInteger(one) && !isAlwaysTwinned(one))
        .map((member) => [twinName(member.name), twinTest(member)]),
    )
    const patterns = shape.patterns.map(({ pattern, shape: one }) => ({ pattern, ...this.#entryWriter(one) }))
    const rest = shape.rest === null ? null : this.#entryWriter(shape.rest)
    return function writeRest(object, onLost) {
      let json = ''
      for (const key of Object.keys(object)) {
        if (declared.has(key) || twinTests.get(key)?.(object) === true) continue
        const value = (object as Readonly<Record<string, unknown>>)[key]
        if (!isWritable(value)) continue
        const entry =
          patterns.length === 0 ? rest : (patterns.find(({ pattern }) => pattern.test(key)) ?? rest)
        if (entry === null) continue
        json += `,${textOf(key)}:${entry.write(value, onLost)}`
        const twin = entry.twinOf(value)
        if (twin !== null && !Object.hasOwn(object, twinName(key)))
          json += `,${textOf(twinName(key))}:${twin}`
      }
      return json
    }
  }

  #entryWriter(shape: Shape): { readonly write: Write; readonly twinOf: (value: unknown) => string | null } {
    return { write: this.writerOf(shape), twinOf: this.twins ? twinWriter(shape) : noTwin }
  }
}

function mismatch(expected: string): TypeError {
  return new TypeError(`The value does not match ${expected}`)
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

// Is a member of this object followed by its twin?
function twinTest({ name, shape, fallback }: Member): (object: object) => boolean {
  const twinOf = twinWriter(shape)
  const isDefaultTwinned = withTwin(name, fallback) !== fallback && isWide(shape)
  return (object) => {
    const value = (object as Readonly<Record<string, unknown>>)[name]
    return value === undefined ? isDefaultTwinned : twinOf(value) !== null
  }
}

// A default stands in the schema as a number; its twin follows it as everywhere.
function withTwin(name: string, fallback: string | null): string | null {
  if (fallback === null || !/^-?\d+$/.test(fallback)) return fallback
  return `${fallback},${JSON.stringify(twinName(name))}:"${fallback}"`
}

/** What `toJSON` makes of an object, where it has one. */
export function withoutToJson(value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

/** JSON of an object whose `toJSON` gives null, and of null where the shape is not nullable. */
export function nullObject(shape: ObjectShape): string {
  return shape.nullable && shape.allows === undefined ? 'null' : '{}'
}

/** Writes a value by the first of the alternatives that it matches. */
export function choiceWriter(options: readonly (Alternative & { readonly write: Write })[]): Write {
  return function writeChoice(value, onLost) {
    const json = choose(options, value, ({ write }) => write(value, onLost))
    if (json === undefined) throw mismatch('any of its schemas')
    return json
  }
}

function textWriter(isUnsafe: boolean, writeOther: (value: unknown) => string): Write {
  return isUnsafe ? writeOther : (value) => (typeof value === 'string' ? textOf(value) : writeOther(value))
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
