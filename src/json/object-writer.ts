import {
  isAlwaysTwinned,
  isTwinned,
  type Member,
  mayBeInteger,
  type ObjectShape,
  type Shape,
  twinName,
  twinWriter,
} from '../schema/shape.js'
import { isPlainText, jsonValueOf, textOf } from './exact-json.js'
import { int64Digits } from './int64.js'
import { ownFields, partOf, partOfOwn, type Selection, whole } from './selection.js'

/** Writes the selected fields of a value as JSON; without a selection, all. */
export type Write = (value: unknown, selection?: Selection) => string

interface ValueCompiler {
  readonly twins: boolean
  readonly writerOf: (shape: Shape) => Write
}

type Fields = Readonly<Record<string, unknown>>

interface WrittenMember extends Member {
  /** The JSON before the value, for the first member of the object and for later ones. */
  readonly first: string
  readonly later: string
  /** Writes the value, followed by the twin and its key. */
  readonly write: Write
  readonly kind: 'text' | 'number' | 'other'
  /** Whether `Object.prototype` has the name too. */
  readonly isInherited: boolean
  /** Another name by which it is selected: that of its twin. */
  readonly alias: string
}

interface Part {
  readonly member: WrittenMember
  readonly left: Selection
  readonly fallback: string | null
}

/** What a selection leaves of the members is looked up once for each selection. */
export function objectWriter(compiler: ValueCompiler, shape: ObjectShape): Write {
  const members = writtenMembers(compiler, shape)
  const writeRest = restWriter(compiler, shape)
  const writeUsual = writeRest === null ? usualWriter(members) : null
  const nothing = shape.nullable && shape.allows === undefined ? 'null' : '{}'
  const planned = new WeakMap<Selection, readonly Part[]>()
  let last: Selection | undefined
  let ofLast: readonly Part[] = []

  function partsFor(selection: Selection): readonly Part[] {
    const known = planned.get(selection)
    if (known !== undefined) return known
    const made = members.flatMap((member) => {
      const left = partOf(selection, member.name, member.alias)
      return left === null ? [] : [{ member, left, fallback: fallbackOf(member, left, compiler.twins) }]
    })
    planned.set(selection, made)
    return made
  }

  return function writeObject(value, selection = whole) {
    const object = jsonValueOf(value) as Fields | null
    if (object === null) return nothing
    let values: readonly unknown[] | undefined
    if (selection === whole) {
      for (const name of shape.alsoRequired) if (object[name] === undefined) throw missing(name)
      const written = writeUsual?.(object)
      if (typeof written === 'string') return written
      values = written
    }
    if (selection !== last) {
      ofLast = partsFor(selection)
      last = selection
    }
    // An object within this one may have another selection.
    const parts = ofLast
    let json = ''
    for (let index = 0; index < parts.length; index++) {
      const { member, left, fallback } = parts[index] as Part
      const found = values === undefined ? ownMember(object, member) : values[index]
      const key = json === '' ? member.first : member.later
      // Most values are their own JSON, but for quotes.
      if (member.kind === 'text' && typeof found === 'string' && isPlainText(found))
        json += `${key}"${found}"`
      else if (member.kind === 'number' && Number.isSafeInteger(found)) json += key + (found as number)
      else if (found !== undefined) json += key + member.write(found, left)
      else if (fallback !== null) json += key + fallback
      else if (member.required) throw missing(member.name)
    }
    if (writeRest !== null) {
      const rest = writeRest(object, selection)
      json += json === '' && rest !== '' ? `{${rest.slice(1)}` : rest
    }
    return json === '' ? '{}' : `${json}}`
  }
}

function ownMember(object: Fields, { name, isInherited }: WrittenMember): unknown {
  return isInherited && !Object.hasOwn(object, name) ? undefined : object[name]
}

function writtenMembers(compiler: ValueCompiler, shape: ObjectShape): readonly WrittenMember[] {
  const names = new Set(shape.members.map(({ name }) => name))
  const twins = twinNames(compiler, shape, isTwinned)
  // The twin of a number stands right after it, wherever the schema declares it.
  const members = shape.members.filter(({ name }) => !twins.has(name))
  return members.map((member) => {
    const { name, shape: own } = member
    const key = `${JSON.stringify(name)}:`
    return {
      ...member,
      first: `{${key}`,
      later: `,${key}`,
      write: memberWriter(compiler, name, own, shape.isClosed === true || names.has(twinName(name))),
      isInherited: name in Object.prototype,
      kind: kindOf(own),
      alias: isTwinned(own) ? twinName(name) : name,
    }
  })
}

type WriteUsual = (object: Fields) => string | readonly unknown[]

const usualTests = {
  text: (value: string) => `typeof ${value} === 'string' && isPlainText(${value})`,
  number: (value: string) => `Number.isSafeInteger(${value})`,
  other: (value: string) => `${value} !== undefined`,
}

/** Generates the writer of objects with all members, as engines read literal names fast. Of others it returns the values. */
function usualWriter(members: readonly WrittenMember[]): WriteUsual | null {
  if (members.length === 0 || members.some(({ isInherited }) => isInherited)) return null
  const values = members.map(({ name }, index) => `value${index} = object[${JSON.stringify(name)}]`)
  const tests = members.map(({ kind }, index) => usualTests[kind](`value${index}`))
  const quoteOf = (member?: WrittenMember): string => (member?.kind === 'text' ? '"' : '')
  const written = members.map((member, index) => {
    const before = quoteOf(members[index - 1]) + (index === 0 ? member.first : member.later) + quoteOf(member)
    const value = member.kind === 'other' ? `write${index}(value${index})` : `value${index}`
    return `${JSON.stringify(before)} + ${value}`
  })
  const code = `const [${members.map((_, index) => `write${index}`).join()}] = writes
    return function writeUsual(object) {
      const ${values.join()}
      if (${tests.join(' && ')}) return ${written.join(' + ')} + ${JSON.stringify(`${quoteOf(members.at(-1))}}`)}
      return [${members.map((_, index) => `value${index}`).join()}]
    }`
  const writes = members.map(({ write }) => write)
  return new Function('writes', 'isPlainText', code)(writes, isPlainText) as WriteUsual
}

function twinNames(
  { twins }: ValueCompiler,
  { members }: ObjectShape,
  hasTwin: (shape: Shape) => boolean,
): ReadonlySet<string> {
  return new Set(members.flatMap(({ name, shape }) => (twins && hasTwin(shape) ? twinName(name) : [])))
}

function kindOf(shape: Shape): WrittenMember['kind'] {
  if (shape.kind === 'text') return 'text'
  return shape.kind === 'number' || (shape.kind === 'integer' && shape.int64 === null) ? 'number' : 'other'
}

function memberWriter(compiler: ValueCompiler, name: string, shape: Shape, isTaken: boolean): Write {
  const write = compiler.writerOf(shape)
  if (!compiler.twins || (isTaken && !isTwinned(shape)) || !mayBeInteger(shape)) return write
  const key = `,${JSON.stringify(twinName(name))}:`
  if (shape.kind === 'integer' && shape.int64 !== null) {
    const range = shape.int64
    return function writeInt64Member(value) {
      const digits = int64Digits(value, range)
      return digits === null ? `null${key}null` : `${digits}${key}"${digits}"`
    }
  }
  const twinOf = twinWriter(shape)
  return function writeTwinnedMember(value, selection = whole) {
    // A part of an object has no twin.
    const twin = selection !== whole && typeof value === 'object' ? null : twinOf(value)
    return twin === null ? write(value, selection) : write(value) + key + twin
  }
}

function fallbackOf(
  { name, shape, fallback }: WrittenMember,
  left: Selection,
  twins: boolean,
): string | null {
  if (fallback === null) return null
  if (left !== whole) return JSON.stringify(ownFields(JSON.parse(fallback), left))
  const isTwin = twins && isTwinned(shape) && /^-?\d+$/.test(fallback)
  return isTwin ? `${fallback},${JSON.stringify(twinName(name))}:"${fallback}"` : fallback
}

type WriteRest = (object: Fields, selection: Selection) => string

/**
 * Compiles the writer of undeclared members, each with a comma in front, in the order of the payload; `null` if the shape
 * drops them.
 */
function restWriter(compiler: ValueCompiler, shape: ObjectShape): WriteRest | null {
  if (shape.rest === null && shape.patterns.length === 0) return null
  const entryOf = entryFinder(compiler, shape)
  const taken = new Set([
    ...shape.members.map(({ name }) => name),
    ...twinNames(compiler, shape, isAlwaysTwinned),
  ])
  // Whether these have a twin, which has been written then, depends on the value.
  const numbers = new Map(
    shape.members
      .filter((member) => compiler.twins && mayBeInteger(member.shape) && !taken.has(twinName(member.name)))
      .map((member) => [twinName(member.name), { ...member, twinOf: twinWriter(member.shape) }]),
  )
  const isWritten = (twin: string, object: Fields, selection: Selection): boolean => {
    const number = numbers.get(twin)
    return (
      number !== undefined &&
      partOf(selection, number.name) !== null &&
      number.twinOf(object[number.name]) !== null
    )
  }

  return function writeRest(object, selection) {
    let json = ''
    for (const name of Object.keys(object)) {
      if (taken.has(name) || isWritten(name, object, selection)) continue
      const left = selection === whole ? whole : partOfOwn(selection, name)
      const entry = left === null ? null : entryOf(name)
      const value = object[name]
      if (left === null || entry === null || !isWritable(value)) continue
      json += `,${textOf(name)}:${entry.write(value, left)}`
      const twin = left !== whole && typeof value === 'object' ? null : entry.twinOf(value)
      if (twin !== null && !isSent(object, twinName(name), selection))
        json += `,${textOf(twinName(name))}:${twin}`
    }
    return json
  }
}

function isSent(object: Fields, name: string, selection: Selection): boolean {
  return Object.hasOwn(object, name) && partOfOwn(selection, name) !== null
}

interface Entry {
  readonly write: Write
  readonly twinOf: (value: unknown) => string | null
}

function entryFinder(compiler: ValueCompiler, object: ObjectShape): (name: string) => Entry | null {
  const entry = (shape: Shape): Entry => ({
    write: compiler.writerOf(shape),
    twinOf: compiler.twins && (object.isClosed !== true || isTwinned(shape)) ? twinWriter(shape) : () => null,
  })
  // Patterns are matched against names of the payload only, never against those that clients send.
  const patterns = object.patterns.map(({ pattern, shape }) => ({ pattern, entry: entry(shape) }))
  const rest = object.rest === null ? null : entry(object.rest)
  if (patterns.length === 0) return () => rest
  return (name) => patterns.find(({ pattern }) => pattern.test(name))?.entry ?? rest
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

function missing(name: string): Error {
  return new Error(`${JSON.stringify(name)} is required!`)
}
