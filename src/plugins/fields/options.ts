import type { AnyRequest } from '../../convention/any-request.js'
import { invalid, isObject, listOf, type OptionsOf, optional, text } from '../../options.js'
import { modeOption, routeMode } from '../../report/modes.js'

/** Whether a field is hidden from a request. */
export type IsHidden = AnyRequest<[], boolean>

type Hidden = Readonly<Record<string, true | IsHidden>>

export const fieldsOptions = {
  /**
   * `enforce` projects. `report` changes nothing and counts the requests that ask for it and those whose response the default
   * set or a hidden field may narrow. `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

export const fieldsRouteOptions = {
  ...routeMode,
  /**
   * Dot paths of the fields in the response if the request names no fields.
   * @default all fields
   */
  default: optional(listOf(text())),
  /**
   * Dot paths that a 2xx of any method leaves out: of all responses (`true`), or of those for which a predicate, called
   * before the handler runs, returns `true`. A request that names a field which is hidden from it gets the error for an
   * unknown field. Where a field is hidden, an answer that cannot be narrowed (a string, a stream, a status without a
   * schema) is a 500. With a predicate, no shared cache may store a response. Not for secrets: errors are never projected.
   * @default none
   */
  hidden: optional<Hidden>(checkHidden),
}

/** Options of {@link fields}. */
export interface FieldsOptions extends OptionsOf<typeof fieldsOptions> {}

/** What a route sets under `config.fields`; `false` leaves the parameter alone. */
export interface FieldsRouteOptions extends OptionsOf<typeof fieldsRouteOptions> {}

/** Whether requests without the parameter get less than all. */
export function narrowsUnasked(options: FieldsRouteOptions): boolean {
  return options.default !== undefined || options.hidden !== undefined
}

/** Refuses options of a route that nothing can be selected from. */
export function refuseNames(label: string, options: FieldsRouteOptions, expected: string): void {
  for (const name of ['hidden', 'default'] as const) {
    if (options[name] !== undefined) invalid(`${label}.${name}`, expected, options[name])
  }
}

function checkHidden(label: string, received: unknown): Hidden {
  if (!isObject(received)) return invalid(label, 'an object of true or predicates, by dot path', received)
  for (const [path, hides] of Object.entries(received)) {
    if (hides !== true && typeof hides !== 'function')
      invalid(`${label}['${path}']`, 'true or a predicate', hides)
  }
  return Object.freeze({ ...received }) as Hidden
}
