import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { offerNames } from '../../convention/offer-names.js'
import { loadPeer } from '../../load-peer.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { nonJsonReasonOf } from '../../report/modes.js'
import { isRead } from './decision.js'
import { checkedOf, isIssued, tokenHeader, xsrfSteps } from './hooks.js'
import {
  checkRequired,
  type XsrfOptions,
  type XsrfRouteOptions,
  xsrfOptions,
  xsrfRouteOptions,
} from './options.js'
import { sessionTokens } from './tokens.js'

export type { XsrfOptions, XsrfRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link xsrf} for this route; `false` for a route that no cookie authenticates. */
    xsrf?: XsrfRouteOptions | false
  }
  interface FastifyReply {
    /**
     * Returns a new XSRF token for an HTML form, and sets its cookie; `null` if the request has no session. The page must not
     * be stored by shared caches.
     */
    generateXsrfToken(): string | null
  }
}

/**
 * Protects requests that a cookie authenticates against pages of other origins (cross-site request forgery). A browser sends
 * cookies with every request, whichever page it is for; requests without the cookies, and requests with a verified bearer
 * token, need nothing.
 *
 * Unsafe methods are refused if `Sec-Fetch-Site`, else `Origin`, else `Referer`, is of another origin, and need a token:
 * 403 `xsrf-token-invalid`. Pages of the service read it from a cookie and send it in `X-XSRF-TOKEN`, forms in the field
 * `_csrf`. It is bound to the session by an HMAC, so it is a new one after login, and the server stores nothing.
 *
 * Reads are refused if they may be for a `<script>` or another element of a page of another origin: 403
 * `requested-with-missing`.
 *
 * Not for an API that reads no cookies. Not against scripts in pages of the service itself (XSS), and not for routes whose
 * GET changes something.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED, FST_CONV_PACKAGE_MISSING at
 * registration, FST_CONV_FINDINGS when the app gets ready
 */
export const xsrf: FastifyPluginAsync<XsrfOptions & RegistrationOptions> = convention({
  name: 'xsrf',
  rules: ['origin', 'token', 'requestedWith'],
  options: xsrfOptions,
  routeOptions: xsrfRouteOptions,
  async setUp({ app, options, addFinding }) {
    checkRequired(options)
    const { mode, secret } = options
    const { default: csrf } = await loadPeer('xsrf', '@fastify/csrf', () => import('@fastify/csrf'))
    const tokens = sessionTokens(csrf.Tokens, [secret].flat())
    const { stepsFor, generateToken } = xsrfSteps(options, tokens)
    for (const slot of [isIssued, checkedOf]) slot.declare(app)
    function generateXsrfToken(this: FastifyReply): string | null {
      return generateToken(this)
    }
    const members = { generateXsrfToken: { value: generateXsrfToken } }
    offerNames(app, { plugin: 'xsrf', mode, owner: 'reply', members })
    return { requestedWith: options.requestedWith, stepsFor, addFinding }
  },
  route({ name, methods, route, isHeadSibling, options, modeOf, exclude, state }) {
    const { mode, login = false } = options
    if (mode === 'off') return undefined
    const isEnforced = modeOf.token === 'enforce'
    // Routes that were declared before the plugin are protected, too.
    if (route === null) return { onRequest: state.stepsFor({ ...plain, isEnforced }).checkRequest }
    const own = (route.config?.xsrf as XsrfRouteOptions | undefined)?.requestedWith
    const nonJsonReason = nonJsonReasonOf(route)
    const requestedWith = own ?? (state.requestedWith && nonJsonReason === null)
    const isWrite = methods.some((method) => !isRead(method) && method !== 'OPTIONS')
    if (state.requestedWith && !requestedWith) {
      const isDeclared = nonJsonReason === null
      exclude(nonJsonReason ?? 'config.xsrf.requestedWith is false', ['requestedWith'], isDeclared)
    }
    if (login && !isWrite && !isHeadSibling) {
      const problem = 'no method of the route can begin a session: GET and HEAD are safe'
      const instead = 'POST, or no config.xsrf.login'
      state.addFinding({ rule: 'login', route: name, problem, instead, mode })
    }
    const steps = state.stepsFor({ isEnforced, login, requestedWith, readsForm: isWrite })
    return {
      onRequest: steps.checkRequest,
      preValidation: isWrite ? steps.checkForm : undefined,
      onSend: isEnforced ? steps.setCookie : undefined,
      describe: isEnforced && (isWrite || requestedWith) ? describeXsrf(isWrite && !login) : undefined,
    }
  },
})

const plain = { login: false, requestedWith: false, readsForm: false }

// The header is optional in the document, because other clients do not need it.
function describeXsrf(needsToken: boolean): RouteDescription {
  return {
    problems: problemsOf({
      'requested-with-missing': read,
      ...(needsToken ? { 'xsrf-token-invalid': write } : {}),
    }),
    ...(needsToken
      ? { parameters: { [tokenHeader]: { schema: { type: 'string', description: token } } } }
      : {}),
  }
}

const token = 'The XSRF token of the session; required if a cookie authenticates the request'
const write = 'A cookie authenticates the request, which is from another origin or has no valid XSRF token'
const read = 'A cookie authenticates the request, which may be for an element of a page of another origin'
