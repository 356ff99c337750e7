import { type Fields, partOf, type Selection } from '../json/selection.js'
import { kept } from '../kept.js'
import {
  anything,
  isTwinned,
  leavesOf,
  type Member,
  type ObjectShape,
  type Shape,
  twinName,
} from './shape.js'

export function fieldNames(...shapes: readonly Shape[]): string[] {
  const names = objectsOf(shapes).flatMap((object) => {
    const index = indexOf(object)
    return object.members.map(({ name }) => name).filter((name) => index.get(name)?.isTwin === false)
  })
  return [...new Set(names)]
}

export function namesBelow(shape: Shape, path: readonly string[]): string[] {
  let shapes: readonly Shape[] = [shape]
  for (const name of path) shapes = shapesBelow(shapes, name)
  return fieldNames(...shapes)
}

/** The shape that members lead to, through arrays and alternatives; `null` where they lead to nothing. */
export function shapeWithin(shape: Shape, within: readonly string[]): Shape | null {
  const [step, ...rest] = within
  if (step === undefined) return shape
  const [member] = shapesBelow([shape], step)
  return member === undefined ? null : shapeWithin(member, rest)
}

export function isList(shape: Shape | null): boolean {
  if (shape?.kind !== 'choice') return shape?.kind === 'array'
  const kinds = shape.options.map((option) => option.shape.kind)
  return kinds.includes('array') && kinds.every((kind) => kind === 'array' || kind === 'null')
}

export function isField(shape: Shape, path: readonly string[]): boolean {
  let shapes: readonly Shape[] = [shape]
  for (const name of path) {
    if (isOpen(shapes)) return true
    shapes = shapesBelow(shapes, name)
    if (shapes.length === 0) return false
  }
  return true
}

export function canonicalPath(shape: Shape, path: readonly string[]): readonly string[] {
  let shapes: readonly Shape[] = [shape]
  return path.map((name) => {
    const named = objectsOf(shapes).flatMap((object) => indexOf(object).get(name) ?? [])
    shapes = shapesBelow(shapes, name)
    const [first] = named
    return first !== undefined && named.every(({ isTwin }) => isTwin) ? first.member.name : name
  })
}

/** The fields that a cut leaves of shapes, as far as they are named: by the cut, or by the shapes. */
export function fieldsLeft(shapes: readonly Shape[], cut: Selection): Fields {
  const names = cut.only === null ? fieldNames(...shapes) : [...cut.only.keys()]
  const left = names.flatMap((name): [string, Fields | true][] => {
    const below = partOf(cut, name)
    if (below === null) return []
    if (below.without === null) return [[name, below.only ?? true]]
    const inner = shapesBelow(shapes, name)
    const isNamed = below.only !== null || fieldNames(...inner).length > 0
    return [[name, isNamed ? fieldsLeft(inner, below) : true]]
  })
  return new Map(left)
}

interface Named {
  readonly member: Member
  readonly isTwin: boolean
}

// Selections ask for members by name, and shapes do not change.
const indexes = new WeakMap<ObjectShape, ReadonlyMap<string, Named>>()

function indexOf(object: ObjectShape): ReadonlyMap<string, Named> {
  return kept(indexes, object, () => {
    const names = object.members.map((member): [string, Named] => [member.name, { member, isTwin: false }])
    // A twin that the schema does not declare is known all the same.
    const twins = object.members
      .filter((member) => isTwinned(member.shape))
      .map((member): [string, Named] => [twinName(member.name), { member, isTwin: true }])
    return new Map([...names, ...twins])
  })
}

function objectsOf(shapes: readonly Shape[]): ObjectShape[] {
  return [...leavesOf(shapes)].filter((shape) => shape.kind === 'object')
}

/** Whether the shapes leave open which members there are, so that no name is unknown. */
function isOpen(shapes: readonly Shape[]): boolean {
  return [...leavesOf(shapes)].some(({ kind }) => kind === 'anything')
}

function shapesBelow(shapes: readonly Shape[], name: string): Shape[] {
  return objectsOf(shapes).flatMap((object) => {
    const named = indexOf(object).get(name)
    if (named !== undefined) return [named.member.shape]
    // Regular expressions of the schema are not run on names that a client chooses.
    if (object.patterns.length > 0) return [anything]
    return object.rest === null ? [] : [object.rest]
  })
}
