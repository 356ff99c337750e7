import { fieldName } from '../../http/field-name.js'
import { isWebOrigin } from '../../http/web-origin.js'
import { type Check, type Checks, flag, integer, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

/** Options of the plugin `methodOverride`. */
export interface MethodOverrideOptions {
  /**
   * The methods that a POST may be performed as, in uppercase. `GET`, `HEAD` and `OPTIONS` are not allowed: safe methods are
   * exempt from protections that a POST needs.
   * @default ['PUT', 'PATCH', 'DELETE']
   */
  readonly methods?: readonly string[]
  /**
   * Name of the request header.
   * @default 'X-HTTP-Method-Override'
   */
  readonly header?: string
  /**
   * Name of the field in a body of `application/x-www-form-urlencoded`.
   * @default '_method'
   */
  readonly field?: string
  /**
   * Whether forms are searched for the field. With `false`, for an API without HTML forms, they are not read ahead.
   * @default true
   */
  readonly form?: boolean
  /**
   * Milliseconds within which a form has to arrive, else the answer is 408. A form is read before any hook runs, so it has
   * a limit of its own, besides `requestTimeout` of the server.
   * @default 30_000
   */
  readonly formTimeout?: number
  /**
   * Origins whose pages may name a method in a form (`'https://app.example'`), besides that of the service. A form from
   * any other origin is refused if the browser sends its origin: it has the cookies of the user, and needs no preflight.
   *
   * List only origins that may do everything that the user may. Not for pages that can `fetch`: they need no form, and
   * CORS limits their methods.
   * @default []
   */
  readonly formOrigins?: readonly string[]
  /**
   * `enforce` performs the named method; `report` changes nothing and counts what would be performed or refused; `off`
   * does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
}

const method: Check<string> = (label, received) =>
  typeof received === 'string' && /^[A-Z][A-Z-]*$/.test(received) && !never.includes(received)
    ? received
    : invalid(label, `a method in uppercase, none of ${never.join(', ')}`, received)

const methods: Check<readonly string[]> = (label, received) => {
  const list = listOf(method)(label, received)
  return list.length > 0 ? list : invalid(label, 'at least one method', received)
}

const origin: Check<string> = (label, received) =>
  typeof received === 'string' && isWebOrigin(received)
    ? received
    : invalid(label, "an origin such as 'https://app.example', without a path", received)

/** Checks of {@link MethodOverrideOptions}. */
export const overrideChecks: Checks<MethodOverrideOptions> = {
  methods,
  header: fieldName,
  // Characters that forms do not encode, so that the name is found in the raw bytes.
  field: text('a name of letters, digits, hyphens, dots and underscores', /^[\w.-]+$/),
  form: flag,
  formTimeout: integer(1, 2_147_483_647),
  formOrigins: listOf(origin),
  mode: oneOf(...modes),
}

/** Defaults of {@link MethodOverrideOptions}. */
export const overrideDefaults: Required<MethodOverrideOptions> = {
  methods: Object.freeze(['PUT', 'PATCH', 'DELETE']),
  header: 'X-HTTP-Method-Override',
  field: '_method',
  form: true,
  formTimeout: 30_000,
  formOrigins: Object.freeze([]),
  mode: 'enforce',
}

// TRACE echoes the client's credentials, and CONNECT makes a tunnel of the connection.
const never: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE', 'CONNECT']
