import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from 'oidc-provider'
import type { Database } from '../database.js'
import { endpoints } from './clients.js'
import { failurePage, loginPage, pageHeaders } from './login-page.js'
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
  methodOverride: false,
  problems: { mode: 'off' },
} as const

const paths = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  endpoints.authorization,
  `${endpoints.authorization}/:uid`,
  endpoints.token,
  endpoints.jwks,
  endpoints.userinfo,
]

/** Mounts the authorization server and its login page. */
export async function mountAuthorizationServer(
  app: FastifyInstance,
  { server, database }: MountOptions,
): Promise<void> {
  await app.register(async function mountEndpoints(scope) {
    // The server reads bodies itself.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const url of paths) {
      scope.route({
        method: ['GET', 'HEAD', 'POST', 'OPTIONS'],
        url,
        schema: { hide: true },
        config,
        async handler({ raw }, reply) {
          reply.hijack()
          await server.answer(raw, reply.raw)
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

    scope.get(url, { schema: { hide: true }, config }, async function showLogin({ raw }, reply) {
      const page = await onInteraction(reply, async () => {
        const { params } = await server.provider().interactionDetails(raw, reply.raw)
        const users = await database
          .selectFrom('users')
          .select(['id', 'name'])
          .orderBy('id')
          .limit(20)
          .execute()
        return loginPage(String(params.client_id), users)
      })
      return reply.headers(pageHeaders).send(page)
    })

    scope.post(url, { schema: { hide: true }, config }, async function logIn(request: FastifyRequest, reply) {
      const { user_id: subject = '' } = request.body as { readonly user_id?: string }
      const page = await onInteraction(reply, async () => {
        const provider = server.provider()
        await provider.interactionDetails(request.raw, reply.raw)
        if ((await findUser(database, subject)) === undefined) {
          reply.code(400)
          return failurePage(`There is no user ${subject}.`)
        }
        const login = { accountId: subject }
        const next = await provider.interactionResult(request.raw, reply.raw, { login })
        reply.redirect(next, 303)
        return null
      })
      return page === null ? reply : reply.headers(pageHeaders).send(page)
    })
  })
}

/** A login that is unknown here has expired, was begun in another browser, or before a restart. */
async function onInteraction<T>(reply: FastifyReply, work: () => Promise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof errors.OIDCProviderError)) throw error
    reply.code(400)
    return failurePage('It has expired, or was begun elsewhere. Go back to the app and log in again.')
  }
}
