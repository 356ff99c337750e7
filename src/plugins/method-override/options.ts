import { webOrigin } from '../../http/web-origin.js'
import { type Check, flag, integer, invalid, listOf, type OptionsOf, option } from '../../options.js'
import { modeOption } from '../../rules/modes.js'

// TRACE echoes the client's credentials, and CONNECT makes a tunnel of the connection.
const never: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE', 'CONNECT']

const method: Check<string> = (label, received) =>
  typeof received === 'string' && /^[A-Z][A-Z-]*$/.test(received) && !never.includes(received)
    ? received
    : invalid(label, `a method in uppercase, none of ${never.join(', ')}`, received)

export const methodOverrideOptions = {
  /**
   * The methods that a POST may be performed as, in uppercase. `GET`, `HEAD` and `OPTIONS` are not allowed: safe methods are
   * exempt from protections that a POST needs.
   * @default ['PUT', 'PATCH', 'DELETE']
   */
  methods: option(listOf(method, 'at least one method'), ['PUT', 'PATCH', 'DELETE']),
  /**
   * Whether forms are searched for `_method`. With `false`, for an API without HTML forms, they are not read ahead.
   * @default true
   */
  form: option(flag, true),
  /**
   * Milliseconds within which a form has to arrive, else the answer is 408. A form is read before any hook runs, so it has
   * a limit of its own, besides `requestTimeout` of the server.
   * @default 30_000
   */
  formTimeout: option(integer(1, 2_147_483_647), 30_000),
  /**
   * Origins whose pages may name a method in a form (`'https://app.example'`), besides that of the service. A form from
   * any other origin is refused if the browser sends its origin: it has the cookies of the user, and needs no preflight.
   *
   * List only origins that may do everything that the user may. Not for pages that can `fetch`: they need no form, and
   * CORS limits their methods.
   * @default []
   */
  formOrigins: option(listOf(webOrigin), []),
  /**
   * `enforce` performs the named method; `report` changes nothing and counts what would be performed or refused; `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

/** Options of the plugin `methodOverride`. */
export type MethodOverrideOptions = OptionsOf<typeof methodOverrideOptions>
