import type { FastifyReply, RouteOptions } from 'fastify'
import { headSiblings } from '../../fastify/internals.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { loadPeer } from '../../load-peer.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { describeRoute } from '../../problem/route-description.js'
import { nonJsonReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { isRead, type XsrfRule } from './decision.js'
import { awaitsForm, checkedOf, isIssued, planOfRoute, type XsrfPlan, xsrfHooks } from './hooks.js'
import { describeXsrf } from './openapi.js'
import {
  checkRequired,
  type ResolvedXsrf,
  type XsrfOptions,
  type XsrfRouteOptions,
  xsrfChecks,
  xsrfDefaults,
  xsrfRouteChecks,
} from './options.js'
import { sessionTokens } from './tokens.js'

export type { SessionOf, XsrfOptions, XsrfRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link xsrf} for this route; `false` for a route that no cookie authenticates. */
    xsrf?: XsrfRouteOptions | false
  }
  interface FastifyReply {
    /**
     * Returns a new XSRF token for an HTML form, and sets its cookie; `null` if the request has no session. The page must not
     * be stored by shared caches.
     *
     * @param session the id of a session that this response begins; only with the option `session`
     */
    generateXsrfToken(session?: string): string | null
  }
}

const rules: readonly XsrfRule[] = ['origin', 'token', 'requestedWith']

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
export const xsrf = conventionPlugin<XsrfOptions>('xsrf', async function setUpXsrf(app, received) {
  const options = resolveOptions<XsrfOptions, ResolvedXsrf>('xsrf', received, xsrfChecks, xsrfDefaults)
  checkRequired(options)
  const { mode, requestedWith, secret, header } = options
  const { default: csrf } = await loadPeer('xsrf', '@fastify/csrf', () => import('@fastify/csrf'))
  const tokens = sessionTokens(csrf.Tokens, [secret].flat())
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  let hasLogin = false
  const unplanned: XsrfPlan = { mode, login: false, requestedWith: false, readsForm: false }
  const hooks = xsrfHooks(options, tokens, unplanned, () => hasLogin, reporter)

  isIssued.declare(app)
  function generateXsrfToken(this: FastifyReply, session?: string): string | null {
    if (session !== undefined && options.session === undefined) {
      throw new TypeError('generateXsrfToken() takes a session only with the option xsrf.session')
    }
    return hooks.generateToken(this, session ?? hooks.sessionOf(this.request))
  }
  const members = { generateXsrfToken: { value: generateXsrfToken } }
  offerNames(app, { plugin: 'xsrf', mode, owner: 'reply', members })
  if (mode === 'off') return
  checkedOf.declare(app)
  awaitsForm.declare(app)
  addAppHook(app, 'onRequest', 'xsrf', hooks.checkOnRequest)

  const described: (readonly [route: RouteOptions, header: string | null])[] = []
  app.addHook('onRoute', function xsrfOnRoute(route) {
    const methods = [route.method].flat()
    const name = `${methods.join(', ')} ${route.path}`
    const exclusionReason = nonJsonReasonOf(route)
    const standard = { mode, login: false, requestedWith: requestedWith && exclusionReason === null }
    const own = resolveRouteOptions<XsrfRouteOptions, Required<XsrfRouteOptions>>(
      `${name} config.xsrf`,
      route.config?.xsrf,
      xsrfRouteChecks,
      standard,
    )
    const isWrite = methods.some((method) => !isRead(method) && method !== 'OPTIONS')
    const plan = { ...(own === false ? { ...standard, mode: 'off' as const } : own), readsForm: isWrite }
    planOfRoute.set(route, plan)
    if (isHeadSibling(route)) {
      if (plan.mode === 'enforce') addHook(route, 'onSend', 'xsrf', hooks.finishOnSend)
      return
    }
    if (own === false) addException(name, rules, 'config.xsrf is false')
    else if (requestedWith && !plan.requestedWith) {
      addException(name, ['requestedWith'], exclusionReason ?? 'config.xsrf.requestedWith is false')
    }
    if (plan.login && !isWrite) {
      reporter.addFinding({
        plugin: 'xsrf',
        rule: 'login',
        route: name,
        problem: 'no method of the route can begin a session: GET and HEAD are safe',
        instead: 'POST, or no config.xsrf.login',
        mode,
      })
    }
    if (plan.mode === 'off') return
    hasLogin ||= plan.login
    if (isWrite) addHook(route, 'preValidation', 'xsrf:form', hooks.checkForm)
    if (plan.mode !== 'enforce') return
    addHook(route, 'onSend', 'xsrf', hooks.finishOnSend)
    if (isWrite || plan.requestedWith) described.push([route, isWrite && !plan.login ? header : null])
  })
  app.addHook('onReady', function describeOnReady(done) {
    for (const [route, name] of described.splice(0)) {
      describeRoute(route, describeXsrf(name))
    }
    done()
  })

  function addException(route: string, excepted: readonly string[], reason: string): void {
    reporter.addException({ plugin: 'xsrf', route, rules: excepted, reason, unused: false })
  }
})
