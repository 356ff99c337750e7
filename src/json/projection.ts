import type { Member, ObjectShape, Shape } from '../json-schema/shape.js'
import { isTwinned, mayBeInteger, twinName } from '../json-schema/twins.js'
import { jsonValueOf } from './exact-json.js'
import { cutOf, type FieldCut, whole } from './field-tree.js'
import type { AppendMember, Write, WriteObject, WriteRest, WrittenMember } from './object-writer.js'
import { ownFields, ownFieldsWithin } from './own-fields.js'
import { restWriter } from './rest-writer.js'
import { arrayWriter, choiceWriter, nullObject, type WriterCompiler } from './writer.js'

/**
 * Compiles the writer of a cut: it reads only the members that the cut leaves, and writes them in the order of the
 * schema and then of the payload, so it can only narrow what the schema allows. Compiling looks up each name: no code is
 * generated from the input of clients.
 *
 * @param within names of the members that lead from the top of the shape to where the cut applies, such as the items of
 * a list; what stands beside them stays whole
 */
export function projectionWriter(
  compiler: WriterCompiler,
  shape: Shape,
  cut: FieldCut,
  within: readonly string[] = [],
): Write {
  const [step, ...rest] = within
  return new Narrowing(
    compiler,
    (object) =>
      step === undefined
        ? cutWriter(compiler, object, cut)
        : stepWriter(compiler, object, step, (member) => projectionWriter(compiler, member, cut, rest)),
    (value) => ownFieldsWithin(value, within, cut, compiler.twins),
  ).writerOf(shape)
}

/** Narrows the objects of a shape, wherever they are in it: in arrays, and among alternatives. */
class Narrowing {
  readonly #compiler: WriterCompiler
  readonly #writerOfObject: (object: ObjectShape) => WriteObject
  readonly #narrowed: (value: unknown) => unknown
  readonly #known = new Map<Shape, Write>()

  /** @param narrowed narrows a value that no schema describes */
  constructor(
    compiler: WriterCompiler,
    writerOfObject: (object: ObjectShape) => WriteObject,
    narrowed: (value: unknown) => unknown,
  ) {
    this.#compiler = compiler
    this.#writerOfObject = writerOfObject
    this.#narrowed = narrowed
  }

  writerOf(shape: Shape): Write {
    const known = this.#known.get(shape)
    if (known !== undefined) return known
    // Known before it is compiled: an array may have itself as its items.
    this.#known.set(shape, (value, onLost) => compiled(value, onLost))
    const compiled = this.#compiler.guarded(shape, this.#compile(shape))
    this.#known.set(shape, compiled)
    return compiled
  }

  #compile(shape: Shape): Write {
    switch (shape.kind) {
      case 'object': {
        const write = this.#writerOfObject(shape)
        const nothing = nullObject(shape)
        return function writeNarrowed(value, onLost) {
          const object = jsonValueOf(value)
          return object === null ? nothing : write(object as object, onLost)
        }
      }
      case 'array':
        return arrayWriter(this.writerOf(shape.items))
      case 'choice':
        return choiceWriter(
          shape.options.map((option) => ({ ...option, write: this.writerOf(option.shape) })),
        )
      case 'anything':
        return (value, onLost) => this.#compiler.writeAnything(this.#narrowed(value), onLost)
      default:
        return this.#compiler.writerOf(shape)
    }
  }
}

function cutWriter(compiler: WriterCompiler, object: ObjectShape, cut: FieldCut): WriteObject {
  const declared = new Map(object.members.map((member) => [member.name, member]))
  const appenders = compiler.membersOf(object).flatMap((member) => {
    // A selected twin keeps its place, after its integer.
    const number = member.declaredTwin?.of ?? member.name
    const left = cutOf(cut, number, isTwinned(member.shape) ? twinName(number) : member.name)
    if (left === null) return []
    if (left === whole) return [compiler.appenderOf(member)]
    return [partAppender(compiler, member, left, declared.get(member.name)?.fallback ?? null)]
  })
  const writeRest = restWriter(compiler, object, cut, (shape, left) =>
    projectionWriter(compiler, shape, left),
  )
  return membersWriter(appenders, writeRest)
}

function stepWriter(
  compiler: WriterCompiler,
  object: ObjectShape,
  step: string,
  writerOf: (shape: Shape) => Write,
): WriteObject {
  const appenders = compiler
    .membersOf(object)
    .map((member) =>
      member.name === step
        ? compiler.appenderOf(member, writerOf(member.shape))
        : compiler.appenderOf(member),
    )
  return membersWriter(appenders, compiler.restWriter(object))
}

function partAppender(
  compiler: WriterCompiler,
  member: WrittenMember,
  cut: FieldCut,
  fallback: Member['fallback'],
): AppendMember {
  const writePart = projectionWriter(compiler, member.shape, cut)
  // A number instead of an object has no parts, but a twin.
  const write: Write = mayBeInteger(member.shape)
    ? (value, onLost) => (typeof value === 'object' ? writePart : member.write)(value, onLost)
    : writePart
  const narrowed =
    fallback === null ? null : JSON.stringify(ownFields(JSON.parse(fallback), cut, compiler.twins))
  return compiler.appenderOf(member, write, narrowed)
}

function membersWriter(appenders: readonly AppendMember[], writeRest: WriteRest | null = null): WriteObject {
  return function writeMembers(object, onLost) {
    let json = ''
    for (const append of appenders) json = append(json, object, onLost)
    if (writeRest !== null) {
      const rest = writeRest(object, onLost)
      json += json === '' && rest !== '' ? `{${rest.slice(1)}` : rest
    }
    return json === '' ? '{}' : `${json}}`
  }
}
