import type { ObjectShape, Shape } from '../json-schema/schema-shape.js'
import { isWide, mayBeInteger, noTwin, twinName, twinWriter } from '../json-schema/twins.js'
import { cutOf, type FieldCut, whole } from './field-cut.js'
import { textOf } from './json-text.js'
import type { WriteRest } from './object-writer.js'
import { cutOfOwn, numberName } from './own-fields.js'
import type { Write } from './write.js'
import type { WriterCompiler } from './writer.js'

/**
 * Compiles what writes the members that an object's shape does not declare, as far as a cut leaves them: in the order
 * of the payload, each once, and each with a comma in front. `null` where it leaves none.
 *
 * Patterns are matched against names of the payload only: names that clients think up meet no regular expression.
 *
 * @param partWriter compiles the writer of a part of a member
 */
export function restProjection(
  compiler: WriterCompiler,
  object: ObjectShape,
  cut: FieldCut,
  partWriter: (shape: Shape, cut: FieldCut) => Write,
): WriteRest | null {
  if (object.rest === null && object.patterns.length === 0) return null
  const declared = namesOf(object, compiler.twins)
  if (cut.only !== null && [...cut.only.keys()].every((name) => declared.has(name))) return null

  const entryOf = entryFinder(compiler, object)
  const writtenTwins = twinsOfDeclared(compiler, object, cut)
  // By name: only names of the cut have parts, so they are few.
  const parts = new Map<string, Write>()

  return function writeRestOfCut(payload, onLost) {
    const fields = payload as Readonly<Record<string, unknown>>
    const twinOf = (name: string): string | null =>
      declared.has(name) || !Object.hasOwn(fields, name)
        ? null
        : (entryOf(name)?.twinOf(fields[name]) ?? null)
    const hasTwin = compiler.twins ? (name: string): boolean => twinOf(name) !== null : null
    let json = ''
    for (const name of Object.keys(fields)) {
      if (declared.has(name) || isWritten(name, fields)) continue
      const left = cutOfOwn(cut, name, hasTwin)
      const entry = left === null ? null : entryOf(name)
      if (left === null || entry === null) continue
      const value = fields[name]
      if (!isWritable(value)) continue
      const isPart = left !== whole && typeof value === 'object'
      const write = isPart ? partOf(name, entry.shape, left) : entry.write
      json += `,${textOf(name)}:${write(value, onLost)}`
      const twin = isPart || Object.hasOwn(fields, twinName(name)) ? null : entry.twinOf(value)
      if (twin !== null) json += `,${textOf(twinName(name))}:${twin}`
    }
    return json
  }

  function partOf(name: string, shape: Shape, left: FieldCut): Write {
    const known = parts.get(name)
    if (known !== undefined) return known
    const write = partWriter(shape, left)
    parts.set(name, write)
    return write
  }

  // Has a declared number been followed by its twin already?
  function isWritten(name: string, fields: Readonly<Record<string, unknown>>): boolean {
    const number = writtenTwins.size === 0 ? null : numberName(name)
    return number !== null && (writtenTwins.get(number)?.(fields[number]) ?? null) !== null
  }
}

interface Entry {
  readonly shape: Shape
  readonly write: Write
  readonly twinOf: (value: unknown) => string | null
}

function entryFinder(compiler: WriterCompiler, object: ObjectShape): (name: string) => Entry | null {
  const entry = (shape: Shape): Entry => ({
    shape,
    write: compiler.writerOf(shape),
    twinOf: compiler.twins ? twinWriter(shape) : noTwin,
  })
  const patterns = object.patterns.map(({ pattern, shape }) => ({ pattern, entry: entry(shape) }))
  const rest = object.rest === null ? null : entry(object.rest)
  return (name) => patterns.find(({ pattern }) => pattern.test(name))?.entry ?? rest
}

function namesOf(object: ObjectShape, twins: boolean): ReadonlySet<string> {
  return new Set(
    object.members.flatMap(({ name, shape }) => (twins && isWide(shape) ? [name, twinName(name)] : [name])),
  )
}

// Only the value tells whether an integer without a format has a twin.
function twinsOfDeclared(
  compiler: WriterCompiler,
  object: ObjectShape,
  cut: FieldCut,
): ReadonlyMap<string, (value: unknown) => string | null> {
  if (!compiler.twins) return new Map()
  const numbers = object.members.filter(
    ({ name, shape }) => !isWide(shape) && mayBeInteger(shape) && cutOf(cut, name) !== null,
  )
  return new Map(numbers.map(({ name, shape }) => [name, twinWriter(shape)]))
}

function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}
