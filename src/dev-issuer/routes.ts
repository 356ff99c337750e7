import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from 'oidc-provider'
import { ProblemError } from '../problem/problem-error.js'
import type { FindUser, FindUsers } from './options.js'
import { failurePage, loginPage, pageHeaders, wantsPage } from './pages.js'
import { endpoints, loginPath } from './provider.js'

// No convention of the API is about these routes: they are OAuth's, and pages.
const config = { bearer: false, pathGuard: false, responseRules: false, rateLimit: false } as const

interface Endpoint {
  readonly url: string
  readonly method: ('GET' | 'HEAD' | 'POST' | 'OPTIONS')[]
  readonly headers?: Readonly<Record<string, string>>
}

const cached = { 'cache-control': 'public, max-age=60' }

/** Pages of other origins may use those with OPTIONS. */
const routes: readonly Endpoint[] = [
  { url: '/.well-known/openid-configuration', method: ['GET', 'HEAD', 'OPTIONS'], headers: cached },
  { url: '/.well-known/oauth-authorization-server', method: ['GET', 'HEAD', 'OPTIONS'], headers: cached },
  { url: endpoints.jwks, method: ['GET', 'HEAD', 'OPTIONS'], headers: cached },
  { url: endpoints.authorization, method: ['GET', 'HEAD'] },
  { url: `${endpoints.authorization}/:uid`, method: ['GET', 'HEAD'] },
  { url: endpoints.token, method: ['POST', 'OPTIONS'] },
  { url: endpoints.userinfo, method: ['GET', 'HEAD', 'POST', 'OPTIONS'] },
]

export async function mountEndpoints(
  app: FastifyInstance,
  { provider, issuer }: { readonly provider: Provider; readonly issuer: string },
): Promise<void> {
  const answer = provider.callback()
  // The server reads bodies itself.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  for (const { url, method, headers = {} } of routes) {
    app.route({
      method,
      url,
      schema: { hide: true },
      config,
      async handler({ raw }, reply) {
        // The server knows no OPTIONS but preflights.
        if (raw.method === 'OPTIONS' && raw.headers['access-control-request-method'] === undefined)
          return reply.code(204).header('allow', method.join(', ')).send()
        raw.headers['x-forwarded-proto'] = new URL(issuer).protocol.slice(0, -1)
        delete raw.headers['x-forwarded-host']
        reply.hijack()
        for (const [name, value] of Object.entries(headers)) reply.raw.setHeader(name, value)
        await answer(raw, reply.raw)
        return reply
      },
    })
  }
}

interface LoginOptions {
  readonly provider: Provider
  readonly findUsers: FindUsers
  readonly findUser: FindUser
  /** Whether an error means that a login is unknown. */
  readonly isUnknown: (error: unknown) => boolean
}

export async function mountLogin(
  app: FastifyInstance,
  { provider, findUsers, findUser, isUnknown }: LoginOptions,
): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 1_000 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  const options = { schema: { hide: true }, config }
  const url = `${loginPath}/:uid`

  /** Returns the id of the client; `null` for a login that has expired, or was begun elsewhere or before a restart. */
  async function clientOf({ raw }: FastifyRequest, reply: FastifyReply): Promise<string | null> {
    try {
      return String((await provider.interactionDetails(raw, reply.raw)).params.client_id)
    } catch (error) {
      if (isUnknown(error)) return null
      throw error
    }
  }

  app.get(url, options, async function showLogin(request, reply) {
    const client = await clientOf(request, reply)
    if (client === null) return fail(request, reply, elsewhere)
    return reply.headers(pageHeaders).send(loginPage(client, (await findUsers()).slice(0, 20)))
  })

  app.post<{ Body?: { readonly user_id?: string } }>(url, options, async function logIn(request, reply) {
    if ((await clientOf(request, reply)) === null) return fail(request, reply, elsewhere)
    const accountId = request.body?.user_id ?? ''
    if ((await findUser(accountId)) === undefined)
      return fail(request, reply, `There is no user ${accountId}.`)
    const next = await provider.interactionResult(request.raw, reply.raw, { login: { accountId } })
    return reply.redirect(next, 303)
  })
}

const elsewhere = 'It has expired, or was begun elsewhere. Go back to the app and log in again.'

/** Sends a page to browsers. @throws ProblemError `login-failed` for other clients */
function fail({ headers }: FastifyRequest, reply: FastifyReply, reason: string): FastifyReply {
  if (!wantsPage(headers.accept)) throw new ProblemError('login-failed', { status: 400, detail: reason })
  // Not by Fastify: the conventions would make it a problem document.
  reply.hijack()
  reply.raw.writeHead(400, { ...reply.getHeaders(), ...pageHeaders } as OutgoingHttpHeaders)
  reply.raw.end(failurePage(reason))
  return reply
}
