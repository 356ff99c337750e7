import { numberName, twinName } from '../json-schema/twins.js'
import { jsonValueOf, valueTwin } from './exact-json.js'
import { cutOf, type FieldCut, whole } from './field-tree.js'

/** Whether the member of a name has a twin in the answer. */
export type HasTwin = (name: string) => boolean

/**
 * What a cut leaves of a member that no schema names. Its value decides whether it has a twin. A request for the number or
 * the twin gets both, and the twin of a hidden number is hidden.
 *
 * @param hasTwin `null` where there are no twins
 */
export function cutOfOwn(cut: FieldCut, name: string, hasTwin: HasTwin | null): FieldCut | null {
  const number = numberName(name)
  if (cut.without?.get(name) === true) return null
  if (hasTwin !== null && number !== null && cut.without?.get(number) === true) return null
  const left = cutOf(cut, name)
  if (left !== null || hasTwin === null || cut.only === null) return left
  const isOfTwo =
    number !== null && cut.only.has(number) ? hasTwin(number) : cut.only.has(twinName(name)) && hasTwin(name)
  return isOfTwo ? whole : null
}

/** What a cut leaves of a value that no schema describes: own properties, in their order. */
export function ownFields(value: unknown, cut: FieldCut, twins: boolean): unknown {
  if (cut === whole) return value
  const object = jsonValueOf(value)
  if (Array.isArray(object)) return object.map((item) => ownFields(item, cut, twins))
  if (typeof object !== 'object' || object === null) return object
  const fields = object as Readonly<Record<string, unknown>>
  const hasTwin = twins
    ? (name: string): boolean => Object.hasOwn(fields, name) && valueTwin(fields[name]) !== null
    : null
  const entries = Object.keys(fields).flatMap((name): [string, unknown][] => {
    const left = cutOfOwn(cut, name, hasTwin)
    return left === null ? [] : [[name, ownFields(fields[name], left, twins)]]
  })
  return Object.fromEntries(entries)
}

/** Of a value that no schema describes: what a cut leaves where `within` leads, and all that stands beside it. */
export function ownFieldsWithin(
  value: unknown,
  within: readonly string[],
  cut: FieldCut,
  twins: boolean,
): unknown {
  const [step, ...rest] = within
  if (step === undefined) return ownFields(value, cut, twins)
  const object = jsonValueOf(value)
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, step)) return object
  const items = (object as Readonly<Record<string, unknown>>)[step]
  return { ...object, [step]: ownFieldsWithin(items, rest, cut, twins) }
}
