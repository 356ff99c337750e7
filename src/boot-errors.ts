import createError from '@fastify/error'

/** Errors that a programming mistake causes while the app boots. Their `code` has the prefix `FST_CONV_`. */
export const bootErrors = Object.freeze({
  FST_CONV_OPTION_INVALID: createError<[label: string, expected: string, received: string]>(
    'FST_CONV_OPTION_INVALID',
    '%s: expected %s, received %s',
    500,
    TypeError,
  ),
  FST_CONV_OPTION_UNKNOWN: createError<[label: string, known: string]>(
    'FST_CONV_OPTION_UNKNOWN',
    '%s: there is no such option; expected one of %s',
    500,
    TypeError,
  ),
  FST_CONV_ALREADY_REGISTERED: createError<[plugin: string]>(
    'FST_CONV_ALREADY_REGISTERED',
    '%s is already registered in this context or in one above it; for single routes, use `config`',
    500,
  ),
  FST_CONV_LOADED_LATE: createError<[plugin: string]>(
    'FST_CONV_LOADED_LATE',
    '%s cannot see the routes that were declared before fastify-conventions was loaded: import it before the first route',
    500,
  ),
  FST_CONV_NOT_A_LIST: createError<[route: string]>(
    'FST_CONV_NOT_A_LIST',
    '%s is not a list: declare it with `config: { lists: {} }`, after `await app.register(lists)`',
    500,
  ),
  FST_CONV_OPERATION_DEFINED: createError<[name: string]>(
    'FST_CONV_OPERATION_DEFINED',
    "the operation '%s' is already defined",
    500,
  ),
  FST_CONV_OPERATION_UNKNOWN: createError<[name: string, known: string]>(
    'FST_CONV_OPERATION_UNKNOWN',
    "there is no operation '%s'; the defined operations are: %s",
    500,
  ),
  FST_CONV_PACKAGE_MISSING: createError<[plugin: string, name: string]>(
    'FST_CONV_PACKAGE_MISSING',
    "%s needs the package '%s', which is not installed",
    500,
  ),
  FST_CONV_FINDINGS: createError<[table: string]>('FST_CONV_FINDINGS', '%s', 500),
})
