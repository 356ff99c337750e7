import type { AnyRequest } from '../../convention/any-request.js'
import { invalid, listOf, type OptionsOf, optional, text } from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'

/** Whether a field is hidden from a request. */
export type IsHidden = AnyRequest<[], boolean>

export const fieldsOptions = {
  /**
   * `enforce` projects. `report` changes nothing and counts the requests that ask for it and the answers that the default
   * set or a hidden field would narrow. `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

export const fieldsRouteOptions = {
  /**
   * As the option of the plugin, for this route.
   * @default the option of the plugin
   */
  mode: routeModeOption,
  /**
   * Dot paths of the fields in the response if the request names no fields.
   * @default all fields
   */
  default: optional(listOf(text())),
  /**
   * Dot paths that no 2xx answers, whatever the method (`true`), or not to every request (a predicate, asked before the
   * handler runs). A request from which a field is hidden gets the error for an unknown field. An answer that cannot be narrowed (a string, a stream, a
   * status without a schema) is a 500 where a field is hidden. With a predicate, no shared cache may store a response. Not
   * for secrets: errors are never projected.
   * @default none
   */
  hidden: optional<Readonly<Record<string, true | IsHidden>>>(checkHidden),
}

/** Options of {@link fields}. */
export interface FieldsOptions extends OptionsOf<typeof fieldsOptions> {}

/** What a route sets under `config.fields`; `false` leaves the parameter alone. */
export interface FieldsRouteOptions extends OptionsOf<typeof fieldsRouteOptions> {}

/** Whether requests without the parameter get less than all. */
export function narrowsUnasked(options: FieldsRouteOptions): boolean {
  return options.default !== undefined || options.hidden !== undefined
}

function checkHidden(label: string, received: unknown): Readonly<Record<string, true | IsHidden>> {
  if (typeof received !== 'object' || received === null || Array.isArray(received)) {
    return invalid(label, 'an object of true or predicates, by dot path', received)
  }
  for (const [path, hides] of Object.entries(received)) {
    if (hides !== true && typeof hides !== 'function')
      invalid(`${label}['${path}']`, 'true or a predicate', hides)
  }
  return Object.freeze({ ...received })
}
