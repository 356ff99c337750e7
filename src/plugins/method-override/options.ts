import { fieldName } from '../../http/field-name.js'
import { isWebOrigin } from '../../http/web-origin.js'
import { type Check, type Checks, flag, integer, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

/** Options of the plugin `methodOverride`. */
export interface MethodOverrideOptions {
  /**
   * The methods that a POST may stand for, in uppercase. `GET`, `HEAD` and `OPTIONS` are none: what is exempt from
   * protection because it is safe must not arrive as a POST, nor the other way round.
   * @default ['PUT', 'PATCH', 'DELETE']
   */
  readonly methods?: readonly string[]
  /**
   * Name of the header.
   * @default 'X-HTTP-Method-Override'
   */
  readonly header?: string
  /**
   * Name of the field in a body of `application/x-www-form-urlencoded`.
   * @default '_method'
   */
  readonly field?: string
  /**
   * Is the field of a form looked at? `false` where no HTML form uses this API: then forms are not even read.
   * @default true
   */
  readonly form?: boolean
  /**
   * Milliseconds within which a form has to arrive. It is read before any hook runs, so its time is limited apart from
   * that of other bodies (`requestTimeout` of the server): 408 after that.
   * @default 30_000
   */
  readonly formTimeout?: number
  /**
   * Origins whose pages may name a method in a form (`'https://app.example'`), besides that of the service. A form from
   * elsewhere, with the cookies of your user and without a preflight, is refused where a browser says that it is.
   *
   * Name those that may do all that your user may. Not for pages that can `fetch`: they need no form, and CORS says
   * which methods they may use.
   * @default []
   */
  readonly formOrigins?: readonly string[]
  /**
   * `enforce` performs the method that is named; `report` changes nothing and counts what would be performed or
   * refused; `off` does nothing.
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
  // What a form need not encode, so that it is found as it stands.
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

// POST is what it is already; TRACE shows the client's credentials, and CONNECT makes a tunnel of the connection.
const never: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE', 'CONNECT']
