import type { RouteOptions } from 'fastify'
import { isObject } from '../options.js'

/** The fields that a route hides by `config.fields.hidden`, by dot path: from all (`true`), or by a predicate. */
export type HiddenFields = Readonly<Record<string, unknown>>

const nothing: HiddenFields = Object.freeze({})

/** Returns the fields that a route hides, for plugins whose headers could show them. The plugin `fields` checks the option. */
export function hiddenFieldsOf({ config }: Pick<RouteOptions, 'config'>): HiddenFields {
  const fields: unknown = config?.fields
  const isHiding = isObject(fields) && fields.mode !== 'off' && isObject(fields.hidden)
  return isHiding ? (fields.hidden as HiddenFields) : nothing
}
