import { createHash } from 'node:crypto'
import cookie, { type CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { EncryptJWT, jwtDecrypt } from 'jose'
import * as oauth from 'openid-client'
import { userScopes } from './caller.js'

export interface SessionOptions {
  /** The client of the issuer that this service is. It has no secret, but PKCE (RFC 7636). */
  readonly clientId: string
  readonly issuer: string
  /** At least 32 characters, the same in all instances. It encrypts the cookies, and signs the XSRF tokens. */
  readonly secret: string
  readonly isSecure: boolean
  readonly fetch?: oauth.CustomFetch
}

/** None of the conventions of the API is about these routes: they are for links and forms of pages. */
const config = { bearer: false, responseRules: false, pathGuard: false, idempotency: false } as const
const hidden = { schema: { hide: true }, config } as const
const loginTime = 10 * 60

/** Name of the cookie with the session. A browser takes one with `__Host-` from this host only, and over TLS. */
export function sessionCookie({ isSecure }: Pick<SessionOptions, 'isSecure'>): string {
  return isSecure ? '__Host-session' : 'session'
}

// The server stores nothing: the token is in the cookie, encrypted, and pages cannot read it.
export async function openSessions(app: FastifyInstance, options: SessionOptions): Promise<void> {
  await app.register(cookie)
  const name = sessionCookie(options)
  app.addHook('onRequest', async function openSession({ cookies, raw }) {
    const sealed = cookies[name]
    if (sealed === undefined || raw.headers.authorization !== undefined) return
    const token = await unseal(sealed, options.secret)
    if (token !== null) raw.headers.authorization = `Bearer ${token}`
  })
}

export async function mountLogin(app: FastifyInstance, options: SessionOptions): Promise<void> {
  const { clientId, issuer, secret, isSecure } = options
  const stateCookie = isSecure ? '__Host-login' : 'login'
  const attributes: CookieSerializeOptions = {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
  }
  let discovered: Promise<oauth.Configuration> | undefined

  /** Once; again after a failure. */
  function client(): Promise<oauth.Configuration> {
    discovered ??= discover(options).catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }

  app.get('/login', hidden, async function beginLogin(request, reply) {
    const issuerOfLogin = await client()
    const verifier = oauth.randomPKCECodeVerifier()
    const state = oauth.randomState()
    const url = oauth.buildAuthorizationUrl(issuerOfLogin, {
      redirect_uri: callbackOf(request),
      scope: userScopes.join(' '),
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      // Who was logged in before is asked again: the next one may be another user.
      prompt: 'login',
    })
    const sealed = await seal(`${state} ${verifier}`, secret, loginTime)
    reply.setCookie(stateCookie, sealed, { ...attributes, maxAge: loginTime })
    return reply.header('cache-control', 'no-store').redirect(url.href)
  })

  app.get('/login/callback', hidden, async function endLogin(request, reply) {
    const [state, verifier] = (await unseal(request.cookies[stateCookie] ?? '', secret))?.split(' ') ?? []
    if (state === undefined || verifier === undefined)
      throw loginFailed('It has expired, or was begun in another browser')
    const url = new URL(request.url, callbackOf(request))
    const { access_token: token, expires_in: lifetime = loginTime } = await oauth
      .authorizationCodeGrant(await client(), url, { expectedState: state, pkceCodeVerifier: verifier })
      .catch((error: unknown) => {
        request.log.info({ err: error }, 'the login failed')
        throw loginFailed('The issuer did not confirm it')
      })
    reply.clearCookie(stateCookie, attributes)
    const sealed = await seal(token, secret, lifetime)
    reply.setCookie(sessionCookie(options), sealed, { ...attributes, maxAge: lifetime })
    return reply.header('cache-control', 'no-store').redirect('/')
  })

  app.post('/logout', hidden, async function logOut(_request, reply: FastifyReply) {
    return reply.clearCookie(sessionCookie(options), attributes).redirect('/', 303)
  })

  async function discover({ fetch }: SessionOptions): Promise<oauth.Configuration> {
    return oauth.discovery(new URL(issuer), clientId, undefined, oauth.None(), {
      // The issuer of the demo is on the loopback interface.
      execute: issuer.startsWith('http:') ? [oauth.allowInsecureRequests] : [],
      ...(fetch && { [oauth.customFetch]: fetch }),
    })
  }
}

/** Returns a `fetch` for an issuer that is part of the service, which answers without a request to its own port. */
export function fetchFrom(app: FastifyInstance): typeof fetch & oauth.CustomFetch {
  return async (target, { method = 'GET', headers, body } = {}) => {
    const { host, pathname, search } = new URL(String(target))
    const answer = await app.inject({
      method: method as 'GET' | 'POST',
      url: pathname + search,
      headers: { ...(headers as Record<string, string>), host },
      ...(body && { payload: String(body) }),
    })
    return new Response(answer.body, {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
    })
  }
}

function loginFailed(detail: string): ProblemError {
  return new ProblemError('login-failed', { status: 400, detail: `${detail}. Log in again` })
}

/** A browser may know this machine by another name than the issuer's. The issuer knows the URLs that are allowed. */
function callbackOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}/login/callback`
}

export function seal(text: string, secret: string, lifetime: number): Promise<string> {
  return new EncryptJWT({ text })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setExpirationTime(`${lifetime} s`)
    .encrypt(keyOf(secret))
}

async function unseal(sealed: string, secret: string): Promise<string | null> {
  try {
    return String((await jwtDecrypt(sealed, keyOf(secret))).payload.text)
  } catch {
    return null
  }
}

function keyOf(secret: string): Uint8Array {
  return createHash('sha256').update(`session ${secret}`).digest()
}
