import type { Member, ObjectShape, Shape } from '../json-schema/shape.js'
import {
  isAlwaysTwinned,
  isTwinned,
  mayBeInteger,
  twinName,
  twinTest,
  twinWriter,
  withTwin,
} from '../json-schema/twins.js'
import { jsonValueOf } from './exact-json.js'
import { int64Digits, type OnLostDigits } from './int64.js'
import { isPlainText, textOf } from './json-text.js'
import { ownFields, partOf, partOfOwn, type Selection, whole } from './selection.js'

/** Writes the selected fields of a value as JSON; without a selection, all. */
export type Write = (value: unknown, onLost: OnLostDigits, selection?: Selection) => string

/** What compiles the writers of values. */
interface ValueCompiler {
  readonly twins: boolean
  readonly writerOf: (shape: Shape) => Write
}

type Fields = Readonly<Record<string, unknown>>

/** A declared member as it is written: with its twin, where it has one. */
interface WrittenMember extends Member {
  /** The JSON before the value, for the first member of the object and for later ones. */
  readonly first: string
  readonly later: string
  readonly firstText: string
  readonly laterText: string
  /** Writes the value, followed by the twin and its key. */
  readonly write: Write
  readonly kind: 'text' | 'number' | 'other'
  /** Whether `Object.prototype` has the name too. */
  readonly isInherited: boolean
  /** Where the name is that of the twin of a number: whether the twin stands in its place in an object. */
  readonly isReplaced: ((object: object) => boolean) | null
  /** The names by which it is selected. */
  readonly names: readonly [name: string, alias: string]
  /** JSON of the default, without a twin. */
  readonly plainFallback: string | null
}

/** A member, and what is selected of it. */
interface Part {
  readonly member: WrittenMember
  readonly left: Selection
  readonly fallback: string | null
}

/** What is written of the objects of a shape. */
interface Plan {
  readonly parts: readonly Part[]
  readonly hasRest: boolean
}

/** What a selection leaves of the members is looked up once for each selection. */
export function objectWriter(compiler: ValueCompiler, shape: ObjectShape): Write {
  const members = writtenMembers(compiler, shape)
  const writeRest = restWriter(compiler, shape)
  const nothing = shape.nullable && shape.allows === undefined ? 'null' : '{}'
  const plans = new WeakMap<Selection, Plan>()
  let last: Selection | undefined
  let plan: Plan

  function planFor(selection: Selection): Plan {
    const known = plans.get(selection)
    if (known !== undefined) return known
    const parts = members.flatMap((member) => {
      const left = partOf(selection, ...member.names)
      return left === null ? [] : [{ member, left, fallback: fallbackOf(member, left, compiler.twins) }]
    })
    const made = { parts, hasRest: writeRest?.isSelected(selection) === true }
    plans.set(selection, made)
    return made
  }

  return function writeObject(value, onLost, selection = whole) {
    const object = jsonValueOf(value) as Fields | null
    if (object === null) return nothing
    if (selection === whole) {
      for (const name of shape.alsoRequired) if (object[name] === undefined) throw missing(name)
    }
    if (selection !== last) {
      plan = planFor(selection)
      last = selection
    }
    const { parts, hasRest } = plan
    let json = ''
    for (let index = 0; index < parts.length; index++) {
      const { member, left, fallback } = parts[index] as Part
      const { name, isReplaced } = member
      if (isReplaced?.(object)) continue
      const found = member.isInherited && !Object.hasOwn(object, name) ? undefined : object[name]
      const isFirst = json === ''
      // Most values are their own JSON, but for quotes.
      if (member.kind === 'text' && typeof found === 'string' && isPlainText(found))
        json += `${isFirst ? member.firstText : member.laterText}${found}"`
      else if (member.kind === 'number' && Number.isSafeInteger(found))
        json += (isFirst ? member.first : member.later) + (found as number)
      else if (found !== undefined)
        json += (isFirst ? member.first : member.later) + member.write(found, onLost, left)
      else if (fallback !== null) json += (isFirst ? member.first : member.later) + fallback
      else if (member.required) throw missing(name)
    }
    if (hasRest && writeRest !== null) {
      const rest = writeRest.write(object, onLost, selection)
      json += json === '' && rest !== '' ? `{${rest.slice(1)}` : rest
    }
    return json === '' ? '{}' : `${json}}`
  }
}

function writtenMembers(
  compiler: ValueCompiler,
  { members, isClosed }: ObjectShape,
): readonly WrittenMember[] {
  const { twins } = compiler
  const names = new Set(members.map(({ name }) => name))
  const numbers = new Map(
    members.filter(({ shape }) => twins && isTwinned(shape)).map((member) => [twinName(member.name), member]),
  )
  return members.flatMap((member) => {
    const { name, shape, fallback } = member
    const number = numbers.get(name)
    if (number !== undefined && isAlwaysTwinned(number.shape)) return []
    const key = `${JSON.stringify(name)}:`
    const written: WrittenMember = {
      ...member,
      first: `{${key}`,
      later: `,${key}`,
      firstText: `{${key}"`,
      laterText: `,${key}"`,
      write: memberWriter(compiler, name, shape, isClosed === true || names.has(twinName(name))),
      isInherited: name in Object.prototype,
      kind: kindOf(shape),
      isReplaced: number === undefined ? null : twinTest(number),
      names: number === undefined ? [name, isTwinned(shape) ? twinName(name) : name] : [number.name, name],
      fallback: twins && isTwinned(shape) ? withTwin(name, fallback) : fallback,
      plainFallback: fallback,
    }
    return [written]
  })
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
    return function writeInt64Member(value, onLost) {
      const digits = int64Digits(value, range, onLost)
      return digits === null ? `null${key}null` : `${digits}${key}"${digits}"`
    }
  }
  const twinOf = twinWriter(shape)
  return function writeTwinnedMember(value, onLost, selection = whole) {
    // A part of an object has no twin.
    const twin = selection !== whole && typeof value === 'object' ? null : twinOf(value)
    return twin === null ? write(value, onLost, selection) : write(value, onLost) + key + twin
  }
}

function fallbackOf(
  { fallback, plainFallback }: WrittenMember,
  left: Selection,
  twins: boolean,
): string | null {
  if (plainFallback === null || left === whole) return fallback
  return JSON.stringify(ownFields(JSON.parse(plainFallback), left, twins))
}

/** Writes the members of an object that its shape does not declare, each with a comma in front. */
interface RestWriter {
  readonly isSelected: (selection: Selection) => boolean
  readonly write: (object: Fields, onLost: OnLostDigits, selection: Selection) => string
}

/** Compiles the writer of undeclared members, in the order of the payload; `null` if the shape drops them. */
function restWriter(compiler: ValueCompiler, object: ObjectShape): RestWriter | null {
  const { twins } = compiler
  if (object.rest === null && object.patterns.length === 0) return null
  const declared = new Set(
    object.members.flatMap(({ name, shape }) =>
      twins && isAlwaysTwinned(shape) ? [name, twinName(name)] : [name],
    ),
  )
  const entryOf = entryFinder(compiler, object)
  // Beside these, only the value decides whether a member of that name has been written already.
  const twinTests = new Map(
    object.members
      .filter(({ shape }) => twins && mayBeInteger(shape) && !isAlwaysTwinned(shape))
      .map((member) => [twinName(member.name), { number: member.name, isTwinned: twinTest(member) }]),
  )

  return {
    isSelected: ({ only, within = [] }) =>
      only === null || within.length > 0 || [...only.keys()].some((name) => !declared.has(name)),
    write(fields, onLost, selection) {
      const hasTwin = (name: string): boolean =>
        !declared.has(name) &&
        Object.hasOwn(fields, name) &&
        (entryOf(name)?.twinOf(fields[name]) ?? null) !== null
      let json = ''
      for (const name of Object.keys(fields)) {
        if (declared.has(name)) continue
        const known = twinTests.get(name)
        if (known?.isTwinned(fields) && partOf(selection, known.number) !== null) continue
        const left = selection === whole ? whole : partOfOwn(selection, name, twins ? hasTwin : null)
        const entry = left === null ? null : entryOf(name)
        const value = fields[name]
        if (left === null || entry === null || !isWritable(value)) continue
        json += `,${textOf(name)}:${entry.write(value, onLost, left)}`
        const isPart = left !== whole && typeof value === 'object'
        const twin = isPart || Object.hasOwn(fields, twinName(name)) ? null : entry.twinOf(value)
        if (twin !== null) json += `,${textOf(twinName(name))}:${twin}`
      }
      return json
    },
  }
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
