import type { Match } from '../schema/schema-match.js'
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
import { dateWriters, writeInteger, writeNumber, writeText } from './scalar-writers.js'
import type { Member, ObjectShape, Shape } from './schema-shape.js'
import { isAlwaysTwinned, isWide, mayBeInteger, noTwin, twinName, twinWriter } from './twins.js'
import type { Write, WrittenMember } from './write.js'

/** Compiles writers of shapes; what it has compiled it knows. */
export class WriterCompiler {
  /** Do integers get string twins? */
  readonly twins: boolean
  readonly #writers = new Map<Shape, Write>()
  readonly #members = new Map<ObjectShape, readonly WrittenMember[]>()
  readonly #appenders = new Map<Member, AppenderFactory>()

  /** @param twins whether integers get string twins */
  constructor(twins: boolean) {
    this.twins = twins
  }

  /** The writer of a shape: what fast-json-stringify makes of its schema, with exact integers and their twins. */
  writerOf(shape: Shape): Write {
    const known = this.#writers.get(shape)
    if (known !== undefined) return known
    // Known before it is compiled, for shapes that contain themselves.
    this.#writers.set(shape, (value, onLost) => compiled(value, onLost))
    const ofValue = this.#compile(shape)
    const compiled: Write = shape.nullable
      ? (value, onLost) => (value === null ? 'null' : ofValue(value, onLost))
      : ofValue
    this.#writers.set(shape, compiled)
    return compiled
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
        return shape.format === null ? writeText : dateWriters[shape.format]
      case 'integer':
        return shape.wide ? (value, onLost) => wideDigits(value, onLost) ?? 'null' : writeInteger
      case 'number':
        return writeNumber
      case 'boolean':
        return (value) => (value ? 'true' : 'false')
      case 'null':
        return () => 'null'
      case 'constant':
        return () => shape.json
      case 'anything':
        return (value) => exactJson(value, this.twins) ?? 'null'
      case 'array':
        return arrayWriter(this.writerOf(shape.items))
      case 'tuple':
        return this.#tupleWriter(shape)
      case 'choice':
        return choiceWriter(
          shape.options.map(({ matches, shape: one }) => ({ matches, write: this.writerOf(one) })),
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
    if (shape.kind === 'integer' && wide) {
      return function writeWideMember(value, onLost) {
        const digits = wideDigits(value, onLost)
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
    const writers = shape.items.map((item) => this.writerOf(item))
    const writeRest: Write = (value) => exactJson(value, this.twins) ?? 'null'
    return function writeTuple(value, onLost) {
      if (value === null) return '[]'
      if (!Array.isArray(value) || (!shape.rest && value.length > writers.length)) throw mismatch('the tuple')
      return `[${value.map((item, index) => (writers[index] ?? writeRest)(item, onLost)).join(',')}]`
    }
  }

  #objectWriter(shape: ObjectShape): Write {
    const members = this.membersOf(shape)
    const write = generateObjectWriter(members, this.restWriter(shape))
    return function writeObject(value, onLost) {
      const object = withoutToJson(value)
      return object === null ? '{}' : write(object as object, onLost)
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
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

/** Writes a value by the first of the alternatives that it matches. */
export function choiceWriter(options: readonly { readonly matches: Match; readonly write: Write }[]): Write {
  return function writeChoice(value, onLost) {
    // A Date is written by the format of its schema, which its toJSON does not know.
    const plain = value instanceof Date ? value : withoutToJson(value)
    const option = options.find(({ matches }) => matches(plain))
    if (option === undefined) throw mismatch('any of its schemas')
    return option.write(plain, onLost)
  }
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
