import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Provider, {
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type ResourceServer,
} from 'oidc-provider'
import { scopes, userIdOf } from '../caller.js'
import type { Database } from '../database.js'
import { type ClientSecrets, clientsOf, endpoints, signingAlgorithm } from './clients.js'
import { failurePage, type LoginUser, pageHeaders, wantsPage } from './login-page.js'
import { memoryAdapter } from './memory-adapter.js'
import { makeSigningKeys } from './signing-keys.js'
import { allowUserGrant } from './user-grant.js'

/** How the authorization server is set up. */
export interface AuthorizationServerOptions {
  /** The origin of the demo, by which the tokens name their issuer. */
  readonly issuer: string
  /** The API that the tokens are for. */
  readonly audience: string
  readonly secrets: ClientSecrets
  /** Its users log in. */
  readonly database: Database
}

/** An authorization server, embedded. */
export interface AuthorizationServer {
  readonly issuer: string
  /** What a resource server has to know, without a request to its own process. */
  readonly bearer: {
    readonly issuer: string
    readonly audience: string
    readonly jwksUri: string
    readonly allowHttp: true
    fetch(): Promise<Response>
  }
  /** The provider as it is now: another one once keys are rotated. */
  provider(): Provider
  /** Answers a request. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Signs new tokens with another key; all tokens stay valid until they expire. */
  rotateKeys(): Promise<void>
}

const tokenLifetime = 60 * 60

/**
 * Sets up an OAuth 2.0 authorization server FOR DEVELOPMENT: real in all but one thing, it believes everybody to be who
 * they say they are. All it knows is in memory.
 */
export async function createAuthorizationServer({
  issuer,
  audience,
  secrets,
  database,
}: AuthorizationServerOptions): Promise<AuthorizationServer> {
  const keys = await makeSigningKeys(tokenLifetime)
  const adapter = memoryAdapter()
  const cookieKeys = [randomBytes(32).toString('base64url')]
  let current = start()

  /** The keys of a provider are fixed; all that it has to remember is in the adapter and in signed cookies. */
  function start() {
    const [{ kid }] = keys.all()
    const resourceServer = (): ResourceServer => ({
      scope: Object.keys(scopes).join(' '),
      audience,
      accessTokenTTL: tokenLifetime,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: signingAlgorithm, kid } },
    })
    const configuration: Configuration = {
      adapter,
      clients: clientsOf(issuer, secrets),
      cookies: {
        keys: cookieKeys,
        long: { path: '/oauth', httpOnly: true, sameSite: 'lax' },
      },
      jwks: { keys: [...keys.all()] },
      routes: endpoints,
      scopes: ['openid', ...Object.keys(scopes)],
      responseTypes: ['code'],
      clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
      enabledJWA: { idTokenSigningAlgValues: [signingAlgorithm] },
      interactions: { url: (_ctx, { uid }) => `${endpoints.interaction}/${uid}` },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: { enabled: false },
        pushedAuthorizationRequests: { enabled: false },
        dPoP: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: (ctx) => {
            // A client that names no scope gets all that it may have (RFC 6749 §3.3).
            if (ctx.oidc.params?.grant_type === 'client_credentials')
              ctx.oidc.params.scope ??= ctx.oidc.client?.scope
            return audience
          },
          getResourceServerInfo: (_ctx, resource) => {
            if (resource !== audience) throw new errors.InvalidTarget()
            return resourceServer()
          },
          useGrantedResource: () => true,
        },
      },
      ttl: {
        AccessToken: tokenLifetime,
        ClientCredentials: tokenLifetime,
        IdToken: tokenLifetime,
        Interaction: 60 * 60,
        Session: 24 * 60 * 60,
        Grant: 24 * 60 * 60,
      },
      async findAccount(_ctx, subject) {
        const user = await findUser(database, subject)
        return user === undefined
          ? undefined
          : { accountId: subject, claims: async () => ({ sub: subject, name: user.name }) }
      },
      // The page at `/docs` may have been opened by another name of this machine than the issuer's.
      clientBasedCORS: (_ctx, from, { redirectUris = [] }) =>
        redirectUris.some((uri) => new URL(uri).origin === from),
      async renderError(ctx, { error, error_description }) {
        if (wantsPage(ctx.headers.accept)) {
          ctx.set(pageHeaders)
          ctx.body = failurePage(`${error}: ${error_description ?? ''}`)
        } else {
          ctx.set('cache-control', 'no-store')
          ctx.body = { error, error_description }
        }
      },
      loadExistingGrant: (ctx) => consent(ctx, audience),
    }
    const provider = new Provider(issuer, configuration)
    // Its URLs are those of the issuer, whatever the request came by, see `answer`.
    provider.proxy = true
    const isUser = async (id: string) => (await findUser(database, id)) !== undefined
    allowUserGrant(provider, { audience, resourceServer, isUser })
    return { provider, answer: provider.callback() }
  }

  return {
    issuer,
    bearer: {
      issuer,
      audience,
      jwksUri: issuer + endpoints.jwks,
      allowHttp: true,
      fetch: async () => Response.json(keys.published()),
    },
    provider: () => current.provider,
    answer(request, response) {
      // A request of this process has no TLS.
      request.headers['x-forwarded-proto'] = new URL(issuer).protocol.slice(0, -1)
      delete request.headers['x-forwarded-host']
      return current.answer(request, response)
    },
    async rotateKeys() {
      await keys.rotate()
      current = start()
    },
  }
}

/** Whoever logs in agrees to all that the app asks for: the clients are the demo's own. */
async function consent({ oidc }: KoaContextWithOIDC, audience: string) {
  const { client, session, params, provider } = oidc
  if (client === undefined || session?.accountId === undefined) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  const scope = String(params?.scope ?? '')
  grant.addOIDCScope(scope)
  grant.addResourceScope(audience, scope)
  await grant.save()
  return grant
}

/** Returns the user of an id in text. */
export async function findUser(db: Database, subject: string): Promise<LoginUser | undefined> {
  const id = userIdOf(subject)
  if (id === null) return undefined
  return db.selectFrom('users').select(['id', 'name']).where('id', '=', id).executeTakeFirst()
}
