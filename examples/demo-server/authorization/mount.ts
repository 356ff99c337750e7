import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { errors } from 'oidc-provider'
import type { Database } from '../database.js'
import { endpoints } from './clients.js'
import { failurePage, loginPage, pageHeaders, wantsPage } from './login-page.js'
import { type AuthorizationServer, findUser } from './server.js'

/** What {@link mountAuthorizationServer} needs. */
export interface MountOptions {
  readonly server: AuthorizationServer
  readonly database: Database
}

/** None of the conventions of the API is about these routes: they are OAuth's, and pages. */
const config = {
  bearer: false,
  pathGuard: false,
  responseRules: false,
  rateLimit: false,
} as const

// What is public, and changes when keys are rotated.
const cached = { 'cache-control': 'public, max-age=60' }

/** The endpoints of the server; pages of other origins may use those with OPTIONS. */
const routes: readonly Pick<EndpointRoute, 'url' | 'method' | 'headers'>[] = [
  { url: '/.well-known/openid-configuration', method: ['GET', 'HEAD', 'OPTIONS'], headers: cached },
  { url: '/.well-known/oauth-authorization-server', method: ['GET', 'HEAD', 'OPTIONS'], headers: cached },
  { url: endpoints.jwks, method: ['GET', 'HEAD', 'OPTIONS'], headers: cached },
  { url: endpoints.authorization, method: ['GET', 'HEAD'] },
  { url: `${endpoints.authorization}/:uid`, method: ['GET', 'HEAD'] },
  { url: endpoints.token, method: ['POST', 'OPTIONS'] },
  { url: endpoints.userinfo, method: ['GET', 'HEAD', 'POST', 'OPTIONS'] },
]

interface EndpointRoute {
  readonly url: string
  readonly method: ('GET' | 'HEAD' | 'POST' | 'OPTIONS')[]
  readonly headers?: Readonly<Record<string, string>>
}

/** Mounts the authorization server and its login page. */
export async function mountAuthorizationServer(
  app: FastifyInstance,
  { server, database }: MountOptions,
): Promise<void> {
  await app.register(async function mountEndpoints(scope) {
    // The server reads bodies itself.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const { url, method, headers = {} } of routes) {
      scope.route({
        method,
        url,
        schema: { hide: true },
        config,
        async handler({ raw, headers: sent }, reply) {
          // The server knows no OPTIONS but preflights.
          if (raw.method === 'OPTIONS' && sent['access-control-request-method'] === undefined)
            return reply.code(204).header('allow', method.join(', ')).send()
          reply.hijack()
          for (const [name, value] of Object.entries(headers)) reply.raw.setHeader(name, value)
          await server.answer(raw, reply.raw)
          return reply
        },
      })
    }
  })

  await app.register(async function mountLogin(scope) {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 1_000 },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    )
    const url = `${endpoints.interaction}/:uid`

    scope.get(url, { schema: { hide: true }, config }, async function showLogin(request, reply) {
      const page = await onInteraction(request, reply, async () => {
        const { params } = await server.provider().interactionDetails(request.raw, reply.raw)
        const users = await database
          .selectFrom('users')
          .select(['id', 'name'])
          .orderBy('id')
          .limit(20)
          .execute()
        return loginPage(String(params.client_id), users)
      })
      return page === null ? reply : reply.headers(pageHeaders).send(page)
    })

    scope.post(url, { schema: { hide: true }, config }, async function logIn(request: FastifyRequest, reply) {
      const { user_id: subject = '' } = (request.body ?? {}) as { readonly user_id?: string }
      await onInteraction(request, reply, async () => {
        const provider = server.provider()
        await provider.interactionDetails(request.raw, reply.raw)
        if ((await findUser(database, subject)) === undefined) {
          return failure(request, reply, `There is no user ${subject}.`)
        }
        const login = { accountId: subject }
        const next = await provider.interactionResult(request.raw, reply.raw, { login })
        return reply.redirect(next, 303)
      })
      return reply
    })
  })
}

/** A login that is unknown here has expired, was begun in another browser, or before a restart. */
async function onInteraction<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof errors.OIDCProviderError)) throw error
    return failure(
      request,
      reply,
      'It has expired, or was begun elsewhere. Go back to the app and log in again.',
    )
  }
}

/** Sends a page to browsers. @throws ProblemError `login-failed` for other clients */
function failure({ headers }: FastifyRequest, reply: FastifyReply, reason: string): null {
  if (!wantsPage(headers.accept)) throw new ProblemError('login-failed', { status: 400, detail: reason })
  // Not by Fastify: the conventions would make it a problem document.
  reply.hijack()
  reply.raw.writeHead(400, { ...reply.getHeaders(), ...pageHeaders } as OutgoingHttpHeaders)
  reply.raw.end(failurePage(reason))
  return null
}
