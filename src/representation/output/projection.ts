import { exactJson } from './exact-json.js'
import { type FieldTree, fieldPaths } from './field-tree.js'
import { missing, type WriteObject, type WriteRest } from './object-writer.js'
import { anything, type Member, type ObjectShape, type Shape } from './schema-shape.js'
import { isWide, twinName } from './twins.js'
import type { Write, WrittenMember } from './write.js'
import { arrayWriter, choiceWriter, type WriterCompiler, withoutToJson } from './writer.js'

/** The names that a selection may have at the top of a shape; a twin goes by the name of its number. */
export function fieldNames(shape: Shape): string[] {
  const names = objectsOf(shape).flatMap((object) =>
    object.members.map((member) => member.name).filter((name) => wideOf(object, name) === undefined),
  )
  return [...new Set(names)]
}

/** The shape that members lead to, through arrays and alternatives; `null` where they lead to nothing. */
export function shapeWithin(shape: Shape, within: readonly string[]): Shape | null {
  const [step, ...rest] = within
  if (step === undefined) return shape
  const [member] = objectsOf(shape).flatMap((object) => memberShapes(object, step))
  return member === undefined ? null : shapeWithin(member, rest)
}

/** A selection in which twins go by the name of their number: both stand beside each other anyway. */
export function canonicalFields(shape: Shape, tree: FieldTree): FieldTree {
  const canonical = [...tree].map(([name, below]): [string, FieldTree | true] => {
    const number = objectsOf(shape).flatMap((object) => wideOf(object, name) ?? [])[0]
    if (number !== undefined) return [number.name, true]
    const inner = below === true ? null : shapeWithin(shape, [name])
    return [name, below === true || inner === null ? below : canonicalFields(inner, below)]
  })
  return new Map(canonical)
}

/** The selected paths that a shape does not have, in the order of the selection. */
export function unknownFields(shape: Shape, tree: FieldTree): string[] {
  if (isOpen(shape)) return []
  return [...tree].flatMap(([name, below]) => {
    const shapes = objectsOf(shape).flatMap((object) => memberShapes(object, name))
    if (shapes.length === 0) return below === true ? [name] : fieldPaths(below, `${name}.`)
    if (below === true) return []
    // Where alternatives have a member of that name, it is enough that one of them has what is below.
    const unknown = shapes.map((member) => unknownFields(member, below))
    const fewest = unknown.reduce((least, some) => (some.length < least.length ? some : least))
    return fewest.map((path) => `${name}.${path}`)
  })
}

/** The selection of all that a shape has, but for some dot paths. */
export function allBut(shape: Shape, hidden: ReadonlySet<string>, prefix = ''): FieldTree {
  const names = fieldNames(shape).filter((name) => !hidden.has(prefix + name))
  return new Map(
    names.map((name): [string, FieldTree | true] => {
      const path = `${prefix}${name}.`
      const inner = objectsOf(shape).flatMap((object) => memberShapes(object, name))[0]
      const isTouched = [...hidden].some((one) => one.startsWith(path))
      return [name, isTouched && inner !== undefined ? allBut(inner, hidden, path) : true]
    }),
  )
}

/**
 * Compiles the writer of a selection. It reads only what is selected and writes it in the order of the schema, so it
 * can only narrow what the schema allows. Compiling is a look-up for each name: no code is made of what clients send.
 *
 * @param within names of the members that lead from the top of the shape to where the selection applies, such as the
 * items of a list; what stands beside them stays whole
 */
export function projectionWriter(
  compiler: WriterCompiler,
  shape: Shape,
  tree: FieldTree,
  within: readonly string[] = [],
): Write {
  const [step, ...rest] = within
  return narrowed(
    compiler,
    shape,
    (object) => {
      const members = compiler.membersOf(object)
      if (step === undefined) return membersWriter(selectedMembers(compiler, object, members, tree))
      const stepped = members.map((member) =>
        member.name === step
          ? { ...member, write: projectionWriter(compiler, member.shape, tree, rest) }
          : member,
      )
      return membersWriter(stepped, compiler.restWriter(object))
    },
    tree,
  )
}

/** Narrows the objects of a shape, wherever they are in it: in arrays, and among alternatives. */
function narrowed(
  compiler: WriterCompiler,
  shape: Shape,
  writerOf: (object: ObjectShape) => WriteObject,
  tree: FieldTree,
): Write {
  const write = narrowedValue(compiler, shape, writerOf, tree)
  return (value, onLost) => (value === null && shape.nullable ? 'null' : write(value, onLost))
}

function narrowedValue(
  compiler: WriterCompiler,
  shape: Shape,
  writerOf: (object: ObjectShape) => WriteObject,
  tree: FieldTree,
): Write {
  switch (shape.kind) {
    case 'object': {
      const write = writerOf(shape)
      return function writeNarrowed(value, onLost) {
        const object = withoutToJson(value)
        return typeof object === 'object' && object !== null ? write(object, onLost) : '{}'
      }
    }
    case 'array':
      return arrayWriter(narrowed(compiler, shape.items, writerOf, tree))
    case 'choice':
      return choiceWriter(
        shape.options.map(({ matches, shape: one }) => ({
          matches,
          write: narrowed(compiler, one, writerOf, tree),
        })),
      )
    case 'anything':
      return (value) => exactJson(ownFields(value, tree), compiler.twins) ?? 'null'
    default:
      return compiler.writerOf(shape)
  }
}

function selectedMembers(
  compiler: WriterCompiler,
  object: ObjectShape,
  members: readonly WrittenMember[],
  tree: FieldTree,
): WrittenMember[] {
  const declared = members.flatMap((member) => {
    // Whoever asks for a twin gets it where it always stands: beside its number.
    const below =
      tree.get(member.name) ?? (isWide(member.shape) ? tree.get(twinName(member.name)) : undefined)
    if (below === undefined) return []
    return [below === true ? member : { ...member, write: projectionWriter(compiler, member.shape, below) }]
  })
  const names = new Set(object.members.map((member) => member.name))
  const entries = [...tree].flatMap(([name, below]) => {
    const [shape] = names.has(name) ? [] : memberShapes(object, name)
    if (shape === undefined) return []
    const write = entryWriter(compiler, object, name, below)
    return [{ name, shape, required: false, fallback: null, isOwn: true, write }]
  })
  return [...declared, ...entries]
}

/**
 * Writes a member that the schema does not name. Patterns are matched against it only when the payload has it: names
 * that clients think up meet no regular expression.
 */
function entryWriter(
  compiler: WriterCompiler,
  object: ObjectShape,
  name: string,
  below: FieldTree | true,
): Write {
  let write: Write | undefined
  return function writeEntry(value, onLost) {
    write ??= writeOf(object.patterns.find(({ pattern }) => pattern.test(name))?.shape ?? object.rest)
    return write(value, onLost)
  }

  function writeOf(shape: Shape | null): Write {
    if (shape === null) return () => nothing
    return below === true ? compiler.memberWriter(name, shape) : projectionWriter(compiler, shape, below)
  }
}

function membersWriter(
  members: readonly (WrittenMember & { readonly isOwn?: boolean })[],
  writeRest: WriteRest | null = null,
): WriteObject {
  const steps = members.map((member) => ({
    ...member,
    key: `${JSON.stringify(member.name)}:`,
    // What every object inherits is nobody's data, and of members without a name in the schema only data counts.
    isOwn: member.isOwn === true || member.name in Object.prototype,
  }))
  return function writeMembers(object, onLost) {
    let json = ''
    for (let index = 0; index < steps.length; index++) {
      const step = steps[index] as (typeof steps)[number]
      const value = step.isOwn ? ownValue(object, step.name) : (object as Fields)[step.name]
      if (value === undefined) {
        if (step.fallback !== null) json += (json === '' ? '{' : ',') + step.key + step.fallback
        else if (step.required) throw missing(step.name)
        continue
      }
      const text = step.write(value, onLost)
      if (text !== nothing) json += (json === '' ? '{' : ',') + step.key + text
    }
    if (writeRest !== null) {
      const rest = writeRest(object, onLost)
      json += json === '' && rest !== '' ? `{${rest.slice(1)}` : rest
    }
    return json === '' ? '{}' : `${json}}`
  }
}

// No JSON is empty: a member that the schema does not let out.
const nothing = ''

type Fields = Readonly<Record<string, unknown>>

function ownValue(object: object, name: string): unknown {
  return Object.prototype.propertyIsEnumerable.call(object, name) ? (object as Fields)[name] : undefined
}

function ownFields(value: unknown, tree: FieldTree): unknown {
  const object = withoutToJson(value)
  if (Array.isArray(object)) return object.map((item) => ownFields(item, tree))
  if (typeof object !== 'object' || object === null) return object
  const entries = [...tree].flatMap(([name, below]) => {
    const field = ownValue(object, name)
    return field === undefined ? [] : [[name, below === true ? field : ownFields(field, below)]]
  })
  return Object.fromEntries(entries)
}

function objectsOf(shape: Shape): ObjectShape[] {
  if (shape.kind === 'object') return [shape]
  if (shape.kind === 'array') return objectsOf(shape.items)
  return shape.kind === 'choice' ? shape.options.flatMap((option) => objectsOf(option.shape)) : []
}

/** Does the shape say nothing of its members? Then nobody can say that one is unknown. */
function isOpen(shape: Shape): boolean {
  if (shape.kind === 'array') return isOpen(shape.items)
  if (shape.kind === 'choice') return shape.options.some((option) => isOpen(option.shape))
  return shape.kind === 'anything'
}

function memberShapes(object: ObjectShape, name: string): Shape[] {
  const declared = object.members.find((member) => member.name === name) ?? wideOf(object, name)
  if (declared !== undefined) return [declared.shape]
  if (object.patterns.length > 0) return [anything]
  return object.rest === null ? [] : [object.rest]
}

// A twin that the schema does not declare is known all the same.
function wideOf(object: ObjectShape, name: string): Member | undefined {
  return object.members.find((member) => twinName(member.name) === name && isWide(member.shape))
}
