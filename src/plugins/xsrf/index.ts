import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { verifiedAuthorization } from '../../convention/caller.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { isRead, isResponse, sentFields } from '../../convention/exchange.js'
import { offerNames } from '../../convention/offer-names.js'
import { replySlot, requestSlot } from '../../convention/slots.js'
import type { Effect } from '../../convention/steps.js'
import {
  cookieValues,
  isForSharedCaches,
  valueIndex,
  varyMerger,
  withPrivate,
} from '../../http/header-fields.js'
import { isForm, mediaTypeOf } from '../../http/media-types.js'
import { loadPeer } from '../../load-peer.js'
import { isObject } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { nonJsonReasonOf } from '../../report/modes.js'
import {
  checkRequired,
  type ResolvedXsrf,
  type XsrfOptions,
  type XsrfRouteOptions,
  xsrfOptions,
  xsrfRouteOptions,
} from './options.js'
import { decideXsrf, sessionOf, sessionTokens, type XsrfRule, type XsrfTokens } from './tokens.js'

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
    const { stepsFor, generateXsrfToken } = xsrfSteps(options, tokens)
    const members = { generateXsrfToken: { value: generateXsrfToken } }
    offerNames(app, { plugin: 'xsrf', mode, owner: 'reply', members })
    return { requestedWith: options.requestedWith, stepsFor, addFinding }
  },
  route({ name, methods, route, options, modeOf, exclude, state }) {
    const { mode, login = false } = options
    if (mode === 'off') return undefined
    const isEnforced = modeOf.token === 'enforce'
    // Routes that were declared before the plugin are protected, too.
    if (route === null) return { onRequest: state.stepsFor({ isEnforced }).checkRequest }
    const own = (route.config?.xsrf as XsrfRouteOptions | undefined)?.requestedWith
    const nonJsonReason = nonJsonReasonOf(route)
    const requestedWith = own ?? (state.requestedWith && nonJsonReason === null)
    const isWrite = methods.some((method) => !isRead(method) && method !== 'OPTIONS')
    if (state.requestedWith && !requestedWith) {
      const isDeclared = nonJsonReason === null
      exclude(nonJsonReason ?? 'config.xsrf.requestedWith is false', ['requestedWith'], isDeclared)
    }
    if (login && !isWrite) {
      const problem = 'no method of the route can begin a session: GET and HEAD are safe'
      const instead = 'POST, or no config.xsrf.login'
      state.addFinding({ rule: 'login', route: name, problem, instead, mode })
    }
    const steps = state.stepsFor({ isEnforced, login, requestedWith, readsForm: isWrite })
    return {
      onRequest: steps.checkRequest,
      preValidation: isWrite ? steps.checkForm : undefined,
      onSend: isEnforced ? steps.setCookie : undefined,
      describe: isEnforced ? describeXsrf(requestedWith && methods.some(isRead), isWrite, login) : undefined,
    }
  },
})

function describeXsrf(checksReads: boolean, isWrite: boolean, login: boolean): RouteDescription {
  const description = 'The XSRF token of the session; required if a cookie authenticates the request'
  const asked =
    'Any value; required of clients without Fetch Metadata, such as old browsers, if a cookie authenticates the request'
  const cause = login
    ? 'The request is'
    : 'A cookie authenticates the request, which has no valid XSRF token, or is'
  return {
    problems: problemsOf({
      ...(checksReads && {
        'requested-with-missing':
          'A cookie authenticates the request, which may be for an element of a page of another origin',
      }),
      ...(isWrite && { 'xsrf-token-invalid': `${cause} from a page of another origin` }),
    }),
    // Optional in the document, because other clients do not need it.
    parameters: {
      ...(isWrite && !login && { [tokenHeader]: { schema: { type: 'string', description } } }),
      ...(checksReads && { 'X-Requested-With': { schema: { type: 'string', description: asked } } }),
    },
  }
}

interface XsrfPlan {
  readonly isEnforced: boolean
  readonly login?: boolean
  readonly requestedWith?: boolean
  /** Whether the route has the step that reads the token of a form. */
  readonly readsForm?: boolean
}

/** A request that a cookie authenticates, and that is not of a page of another origin. */
interface Checked {
  readonly session: string
  /** Whether it is a form, whose token is not read yet. */
  readonly awaitsForm: boolean
}

/** The header in which pages send their token; Axios and Angular use it, too. */
const tokenHeader = 'X-XSRF-TOKEN'
const tokenField = '_csrf'

const checkedOf = requestSlot<Checked>('xsrf.checked')
const isIssued = replySlot<boolean>('xsrf.issued')

const addVary = varyMerger('Cookie, Sec-Fetch-Site, Sec-Fetch-Dest, Sec-Fetch-Mode, X-Requested-With')

function xsrfSteps({ cookies, origins }: ResolvedXsrf, tokens: XsrfTokens) {
  function setToken(request: FastifyRequest, reply: FastifyReply, session: string): string {
    const token = tokens.create(session)
    const secure = request.protocol === 'https' ? '; Secure' : ''
    reply.header('set-cookie', `${cookieNameOf(request)}=${token}; Path=/; SameSite=Strict${secure}`)
    isIssued.set(reply, true)
    return token
  }

  function generateXsrfToken(this: FastifyReply): string | null {
    const session = sessionOf(cookies, this.request.headers.cookie)
    return session === null ? null : setToken(this.request, this, session)
  }

  function checkToken(given: unknown, session: string, request: FastifyRequest): Effect | undefined {
    if (typeof given === 'string' && tokens.isValid(given, session)) return undefined
    const missing = `Send the XSRF token of this session in ${tokenHeader}`
    return refusal(
      'token',
      `${request.method} without a token of the session`,
      given === undefined ? missing : `The XSRF token is not of this session. ${missing}`,
    )
  }

  function stepsFor({ isEnforced, login = false, requestedWith = false, readsForm = false }: XsrfPlan) {
    function checkRequest(request: FastifyRequest): Effect | undefined {
      const { headers, method } = request
      if (headers.cookie === undefined && !login) return undefined
      // The response tells an unknown path from one that is refused.
      const session = request.is404 || isByToken(request) ? null : sessionOf(cookies, headers.cookie)
      const hasSession = session !== null
      const rule = decideXsrf(headers, {
        method,
        hasSession,
        login,
        requestedWith,
        origins,
        authority: () => request.host,
      })
      if (rule === 'origin') {
        const from = headers.origin ?? headers['sec-fetch-site'] ?? 'another origin'
        return refusal(rule, `${method} from ${from}`, 'The request is from a page of another origin')
      }
      if (rule === 'requestedWith') {
        const given = `${method} for ${headers['sec-fetch-dest'] ?? 'an unknown destination'}`
        return refusal(rule, given, 'Send X-Requested-With, or use fetch in a page of the same origin')
      }
      if (session === null) return undefined
      const token = headers[tokenHeader.toLowerCase()]
      const awaitsForm = rule === 'token' && token === undefined && readsForm && hasForm(request)
      checkedOf.set(request, { session, awaitsForm })
      return rule === null || awaitsForm ? undefined : checkToken(token, session, request)
    }

    /** Reads the token of a form, which is known once the body is parsed. Validation does not see it. */
    function checkForm(request: FastifyRequest): Effect | undefined {
      if (!hasForm(request)) return undefined
      const given = takeToken(request, isEnforced)
      const { session, awaitsForm } = checkedOf.get(request) ?? {}
      return session !== undefined && awaitsForm === true ? checkToken(given, session, request) : undefined
    }

    /** Sets the cookie with the token for a session that has none, as a new one after login; and the `Vary` of reads. */
    function setCookie(request: FastifyRequest, reply: FastifyReply, payload: unknown): Effect | undefined {
      const { cookie } = request.headers
      const checked = checkedOf.get(request)
      const isChecked = checked !== undefined
      const ofResponse = isResponse(payload) ? payload.headers.getSetCookie() : []
      const lines = [reply.getHeader('set-cookie') ?? [], ofResponse].flat()
      if (!isChecked && lines.length === 0) return undefined
      const { get, set } = sentFields(reply, payload)
      const cacheControl = get('cache-control') ?? ''
      // Other users get this response too.
      if (isForSharedCaches(cacheControl)) return undefined
      const before = checked?.session ?? sessionOf(cookies, cookie)
      const session = lines.length === 0 ? before : sessionOf(cookies, cookie, lines.map(String))
      const isNew = session !== before
      const isDue = isNew || (isChecked && isIssued.get(reply) !== true)
      if (isDue && session !== null && !hasToken(request, session)) setToken(request, reply, session)
      const headers: Record<string, string> = {}
      if (isIssued.get(reply) === true) headers['cache-control'] = withPrivate(cacheControl)
      if (isChecked && requestedWith && isRead(request.method)) headers.vary = addVary(get('vary'))
      return { rule: 'token', given: 'without the cookie of the token', ...set(headers) }
    }

    return { checkRequest, checkForm, setCookie }
  }

  function hasToken(request: FastifyRequest, session: string): boolean {
    const values = cookieValues(request.headers.cookie ?? '', cookieNameOf(request))
    return values.some((token) => tokens.isValid(token, session))
  }

  return { stepsFor, generateXsrfToken }
}

function cookieNameOf({ protocol }: FastifyRequest): string {
  return protocol === 'https' ? '__Host-XSRF-TOKEN' : 'XSRF-TOKEN'
}

function refusal(rule: XsrfRule, given: string, detail: string): Effect {
  const code = rule === 'requestedWith' ? 'requested-with-missing' : 'xsrf-token-invalid'
  return { rule, given, refusal: new ProblemError(code, { detail }) }
}

/** Whether a verified token identifies the caller. A hook may have made it of a cookie: the client did not send that one. */
function isByToken(request: FastifyRequest): boolean {
  const verified = verifiedAuthorization.get(request)
  const { rawHeaders } = request.raw
  return verified !== undefined && verified === rawHeaders[valueIndex(rawHeaders, 'authorization')]
}

function hasForm({ headers }: FastifyRequest): boolean {
  return isForm(mediaTypeOf(headers['content-type']))
}

function takeToken(request: FastifyRequest, removes: boolean): unknown {
  const { body } = request
  if (!isObject(body) || !Object.hasOwn(body, tokenField)) return undefined
  const value = body[tokenField]
  if (removes) {
    delete body[tokenField]
    // A DELETE by a form has no content but the method and the token.
    if (request.method === 'DELETE' && Object.keys(body).length === 0) request.body = undefined
  }
  // @fastify/multipart may attach an object for each field.
  return isObject(value) && typeof value.value === 'string' ? value.value : value
}
