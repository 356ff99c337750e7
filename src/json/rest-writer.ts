import type { ObjectShape, Shape } from '../json-schema/shape.js'
import {
  isAlwaysTwinned,
  isTwinned,
  mayBeInteger,
  twinName,
  twinTest,
  twinWriter,
} from '../json-schema/twins.js'
import { cutOf, type FieldCut, whole } from './field-tree.js'
import { textOf } from './json-text.js'
import type { Write, WriteRest } from './object-writer.js'
import { cutOfOwn } from './own-fields.js'

/** What compiles the writers of values. */
interface ValueCompiler {
  readonly twins: boolean
  readonly writerOf: (shape: Shape) => Write
}

/**
 * Writes the members of an object that its shape does not declare, as far as a cut leaves them: in the order of the
 * payload, each with a comma in front. `null` where it leaves none.
 *
 * Patterns are matched against names of the payload only: names that clients think up meet no regular expression.
 *
 * @param partWriter compiles the writer of a part of a member
 */
export function restWriter(
  compiler: ValueCompiler,
  object: ObjectShape,
  cut: FieldCut,
  partWriter?: (shape: Shape, cut: FieldCut) => Write,
): WriteRest | null {
  const { twins } = compiler
  if (object.rest === null && object.patterns.length === 0) return null
  const declared = new Set(
    object.members.flatMap(({ name, shape }) =>
      twins && isAlwaysTwinned(shape) ? [name, twinName(name)] : [name],
    ),
  )
  if (cut.only !== null && [...cut.only.keys()].every((name) => declared.has(name))) return null
  const entryOf = entryFinder(compiler, object)
  // Beside these, only the value decides whether a member of that name has been written already.
  const twinTests = new Map(
    object.members
      .filter(
        ({ name, shape }) => twins && mayBeInteger(shape) && !isAlwaysTwinned(shape) && cutOf(cut, name),
      )
      .map((member) => [twinName(member.name), twinTest(member)]),
  )
  // Only names of the cut have parts, so they are few.
  const parts = new Map<string, Write>()
  const partOf = (name: string, { shape, write }: Entry, left: FieldCut): Write => {
    const part = parts.get(name) ?? partWriter?.(shape, left) ?? write
    parts.set(name, part)
    return part
  }

  return function writeRest(payload, onLost) {
    const fields = payload as Readonly<Record<string, unknown>>
    const hasTwin = (name: string): boolean =>
      !declared.has(name) &&
      Object.hasOwn(fields, name) &&
      (entryOf(name)?.twinOf(fields[name]) ?? null) !== null
    let json = ''
    for (const name of Object.keys(fields)) {
      if (declared.has(name) || twinTests.get(name)?.(fields) === true) continue
      const left = cut === whole ? whole : cutOfOwn(cut, name, twins ? hasTwin : null)
      const entry = left === null ? null : entryOf(name)
      const value = fields[name]
      if (left === null || entry === null || !isWritable(value)) continue
      const isPart = left !== whole && typeof value === 'object'
      const write = isPart ? partOf(name, entry, left) : entry.write
      json += `,${textOf(name)}:${write(value, onLost)}`
      const twin = isPart || Object.hasOwn(fields, twinName(name)) ? null : entry.twinOf(value)
      if (twin !== null) json += `,${textOf(twinName(name))}:${twin}`
    }
    return json
  }
}

interface Entry {
  readonly shape: Shape
  readonly write: Write
  readonly twinOf: (value: unknown) => string | null
}

function entryFinder(compiler: ValueCompiler, object: ObjectShape): (name: string) => Entry | null {
  const entry = (shape: Shape): Entry => ({
    shape,
    write: compiler.writerOf(shape),
    twinOf: compiler.twins && (object.isClosed !== true || isTwinned(shape)) ? twinWriter(shape) : () => null,
  })
  const patterns = object.patterns.map(({ pattern, shape }) => ({ pattern, entry: entry(shape) }))
  const rest = object.rest === null ? null : entry(object.rest)
  if (patterns.length === 0) return () => rest
  return (name) => patterns.find(({ pattern }) => pattern.test(name))?.entry ?? rest
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}
