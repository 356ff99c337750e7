import createError from '@fastify/error'

/** Errors that a programming mistake causes while the app boots. Their `code` has the prefix `FST_CONV_`. */
export const bootErrors = Object.freeze({
  /** An option of a plugin, or of a route's `config`, has an invalid value. */
  FST_CONV_OPTION_INVALID: createError<[label: string, expected: string, received: string]>(
    'FST_CONV_OPTION_INVALID',
    '%s: expected %s, received %s',
    500,
    TypeError,
  ),
  /** An option has an unknown name. */
  FST_CONV_OPTION_UNKNOWN: createError<[label: string, known: string]>(
    'FST_CONV_OPTION_UNKNOWN',
    '%s: there is no such option; expected one of %s',
    500,
    TypeError,
  ),
  /** A plugin is registered in a context that already has it, or below one. */
  FST_CONV_ALREADY_REGISTERED: createError<[plugin: string]>(
    'FST_CONV_ALREADY_REGISTERED',
    '%s is already registered in this context or in one above it; for single routes, use `config`',
    500,
  ),
  /** Routes were declared before this package was loaded, so it could not see them. */
  FST_CONV_LOADED_LATE: createError<[plugin: string]>(
    'FST_CONV_LOADED_LATE',
    '%s cannot see the routes that were declared before fastify-conventions was loaded: import it before the first route',
    500,
  ),
  /** A route uses `request.page` or `reply.list()` without `config.lists`, or is declared before `lists` is loaded. */
  FST_CONV_NOT_A_LIST: createError<[route: string]>(
    'FST_CONV_NOT_A_LIST',
    '%s is not a list: declare it with `config: { lists: {} }`, after `await app.register(lists)`',
    500,
  ),
  /** An operation is defined twice. */
  FST_CONV_OPERATION_DEFINED: createError<[name: string]>(
    'FST_CONV_OPERATION_DEFINED',
    "the operation '%s' is already defined",
    500,
  ),
  /** An operation that is started, or that a route names, is not defined. */
  FST_CONV_OPERATION_UNKNOWN: createError<[name: string, known: string]>(
    'FST_CONV_OPERATION_UNKNOWN',
    "there is no operation '%s'; the defined operations are: %s",
    500,
  ),
  /** A plugin needs a package that is not installed. */
  FST_CONV_PACKAGE_MISSING: createError<[plugin: string, name: string]>(
    'FST_CONV_PACKAGE_MISSING',
    "%s needs the package '%s', which is not installed",
    500,
  ),
  /** Routes break conventions. The message is the table of all findings. */
  FST_CONV_FINDINGS: createError<[table: string]>('FST_CONV_FINDINGS', '%s', 500),
})
