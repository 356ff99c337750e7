import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Effect } from '../../convention/steps.js'
import { subjectOf } from '../../fastify/caller.js'
import { headerOf, isResponse, withHeaders } from '../../fastify/reply.js'
import { replySlot, requestSlot, routeSlot } from '../../fastify/slots.js'
import { isForSharedCaches, withPrivate } from '../../http/cache-control.js'
import { cookieValues } from '../../http/cookies.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { valueIndex } from '../../http/raw-headers.js'
import { varyMerger } from '../../http/vary.js'
import { isObject } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { Mode } from '../../rules/modes.js'
import { decideXsrf, isRead, type XsrfRule } from './decision.js'
import type { ResolvedXsrf } from './options.js'
import { sessionAfter, sessionOfCookies, type XsrfTokens } from './tokens.js'

interface XsrfPlan {
  readonly mode: Mode
  readonly login: boolean
  readonly requestedWith: boolean
  /** Whether the route has the hook that reads the token of a form. */
  readonly readsForm: boolean
}

/** A request that a cookie authenticates, and that is not of a page of another origin. */
interface Checked {
  readonly session: string
  /** Whether another request for the same resource may be refused. */
  readonly varies: boolean
}

/** The header in which pages send their token; Axios and Angular use it, too. */
export const tokenHeader = 'X-XSRF-TOKEN'
const tokenField = '_csrf'

export const planOfRoute = routeSlot<XsrfPlan>('xsrf.plan')
export const checkedOf = requestSlot<Checked>('xsrf.checked')
/** The session of a form whose token is not read yet. */
export const awaitsForm = requestSlot<string>('xsrf.form')
export const isIssued = replySlot<boolean>('xsrf.issued')

const formTypes: ReadonlySet<string> = new Set(['application/x-www-form-urlencoded', 'multipart/form-data'])
const addVary = varyMerger([
  'Cookie',
  'Sec-Fetch-Site',
  'Sec-Fetch-Dest',
  'Sec-Fetch-Mode',
  'X-Requested-With',
])

export function xsrfSteps(options: ResolvedXsrf, tokens: XsrfTokens, unplanned: XsrfPlan) {
  // Otherwise a request without a cookie needs no check.
  let hasLogin = false
  const { cookies, origins } = options

  function sessionOf(request: FastifyRequest): string | null {
    const ofCookies = sessionOfCookies(request.headers.cookie, cookies)
    return ofCookies === null || options.session === undefined ? ofCookies : options.session(request)
  }

  function cookieNameOf({ protocol }: FastifyRequest): string {
    return options.cookieName ?? (protocol === 'https' ? '__Host-XSRF-TOKEN' : 'XSRF-TOKEN')
  }

  function hasToken(request: FastifyRequest, session: string): boolean {
    const values = cookieValues(request.headers.cookie ?? '', cookieNameOf(request))
    return values.some((token) => tokens.isValid(token, session))
  }

  function setToken(request: FastifyRequest, reply: FastifyReply, session: string): string {
    const token = tokens.create(session)
    const name = cookieNameOf(request)
    // Browsers refuse the prefixes `__Host-` and `__Secure-` without it.
    const secure = request.protocol === 'https' || /^__(?:Host|Secure)-/i.test(name) ? '; Secure' : ''
    reply.header('set-cookie', `${name}=${token}; Path=/; SameSite=Strict${secure}`)
    return token
  }

  function checkRequest(request: FastifyRequest): Effect | undefined {
    const { headers, method } = request
    if (headers.cookie === undefined && !hasLogin) return undefined
    // The response tells an unknown path from one that is refused.
    const session = request.is404 || isByToken(request) ? null : sessionOf(request)
    if (session === null && !hasLogin) return undefined
    const plan = planOfRoute.of(request) ?? unplanned
    const { mode, login, requestedWith } = plan
    if (mode === 'off') return undefined
    const rule = decideXsrf(headers, { method, hasSession: session !== null, login, requestedWith, origins })
    if (mode === 'enforce' && session !== null && (rule === null || rule === 'token')) {
      checkedOf.set(request, { session, varies: requestedWith && isRead(method) })
    }
    if (rule === null) return undefined
    if (rule !== 'token' || session === null) return effectOf(rule, request)
    const given = headers[tokenHeader.toLowerCase()]
    if (given !== undefined || !plan.readsForm || !isForm(request)) {
      return checkToken(given, session, request)
    }
    awaitsForm.set(request, session)
    return undefined
  }

  /** Reads the token of a form, which is known once the body is parsed. Validation does not see it. */
  function checkForm(request: FastifyRequest): Effect | undefined {
    if (!isForm(request)) return undefined
    const { mode } = planOfRoute.of(request) ?? unplanned
    const given = takeToken(request, mode === 'enforce')
    const session = awaitsForm.get(request)
    return session === undefined ? undefined : checkToken(given, session, request)
  }

  function checkToken(given: unknown, session: string, request: FastifyRequest): Effect | undefined {
    const isValid = typeof given === 'string' && tokens.isValid(given, session)
    return isValid ? undefined : effectOf('token', request, given !== undefined)
  }

  function effectOf(rule: XsrfRule, request: FastifyRequest, hasGiven = false): Effect {
    return { rule, given: exampleOf(rule, request), refusal: problemOf(rule, hasGiven) }
  }

  function problemOf(rule: XsrfRule, hasGiven: boolean): ProblemError {
    if (rule === 'requestedWith') {
      const detail = 'Send X-Requested-With, or use fetch in a page of the same origin'
      return new ProblemError('requested-with-missing', { detail })
    }
    const missing = `Send the XSRF token of this session in ${tokenHeader}`
    const detail =
      rule === 'origin'
        ? 'The request is from a page of another origin'
        : hasGiven
          ? `The XSRF token is not of this session. ${missing}`
          : missing
    return new ProblemError('xsrf-token-invalid', { detail })
  }

  /** Sets the cookie with the token for a session that has none, as a new one after login; and the `Vary` of reads. */
  function setCookie(request: FastifyRequest, reply: FastifyReply, payload: unknown): Effect | undefined {
    const checked = checkedOf.get(request)
    const response = isResponse(payload) ? payload : null
    const lines = setCookiesOf(reply, response)
    if (checked === undefined && lines.length === 0) return undefined
    const cacheControl = response?.headers.get('cache-control') ?? headerOf(reply, 'cache-control') ?? ''
    // Other users get this response too.
    if (isForSharedCaches(cacheControl)) return undefined
    const changes: Record<string, string> = {}
    // What an option of the app reads of a request says nothing about cookies of the response.
    const after =
      options.session === undefined ? sessionAfter(lines, request.headers.cookie, cookies) : undefined
    const session = after === undefined ? (checked?.session ?? null) : after
    const isNew = after !== undefined && after !== checked?.session
    if (session !== null && (isNew || isIssued.get(reply) !== true) && !hasToken(request, session)) {
      setToken(request, reply, session)
      changes['cache-control'] = withPrivate(cacheControl)
    } else if (isIssued.get(reply) === true) changes['cache-control'] = withPrivate(cacheControl)
    if (checked?.varies === true) {
      changes.vary = addVary(response?.headers.get('vary') ?? headerOf(reply, 'vary'))
    }
    const effect = { rule: 'token', given: 'without the cookie of the token' }
    // The header fields of a `Response` replace those of the reply.
    return response === null
      ? { ...effect, headers: changes }
      : { ...effect, payload: withHeaders(response, changes) }
  }

  /** Returns a new token for the session of the request, or for another one, and sets the cookie. */
  function generateToken(reply: FastifyReply, session: string | null): string | null {
    if (session === null) return null
    isIssued.set(reply, true)
    return setToken(reply.request, reply, session)
  }

  const expectLogin = (): void => {
    hasLogin = true
  }

  return { checkRequest, checkForm, setCookie, generateToken, sessionOf, expectLogin }
}

function isByToken(request: FastifyRequest): boolean {
  if (request.headers.authorization === undefined || subjectOf(request) === null) return false
  const { rawHeaders } = request.raw
  return /^bearer /i.test(rawHeaders[valueIndex(rawHeaders, 'authorization')] ?? '')
}

function isForm({ headers }: FastifyRequest): boolean {
  return formTypes.has(mediaTypeOf(headers['content-type']) ?? '')
}

/** Returns the token of a form; `undefined` if it has none. */
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

function setCookiesOf(reply: FastifyReply, response: Response | null): readonly string[] {
  const given = reply.getHeader('set-cookie')
  const own = given === undefined ? [] : [given].flat().map(String)
  return response === null ? own : [...own, ...response.headers.getSetCookie()]
}

function exampleOf(rule: XsrfRule, { method, headers }: FastifyRequest): string {
  if (rule === 'token') return `${method} without a token of the session`
  if (rule === 'requestedWith')
    return `${method} for ${headers['sec-fetch-dest'] ?? 'an unknown destination'}`
  const { origin, 'sec-fetch-site': site } = headers
  return `${method} from ${origin ?? site ?? 'another origin'}`
}
