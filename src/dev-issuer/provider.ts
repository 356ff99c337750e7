import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type {
  ClientMetadata,
  Configuration,
  KoaContextWithOIDC,
  Provider,
  ResourceServer,
} from 'oidc-provider'
import { memoryAdapter } from './memory-adapter.js'
import type { DevClient, FindUser, ResolvedDevIssuer } from './options.js'
import { failurePage, pageHeaders, wantsPage } from './pages.js'

export const endpoints = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  userinfo: '/oauth/userinfo',
} as const

export const loginPath = '/oauth/interaction'

/** The extension grant (RFC 6749 §4.5) that gives a token of any user to whoever asks for it, as the login page does. */
const userGrant = 'urn:fastify-conventions:demo:user'
const alg = 'ES256'
const oneHour = 60 * 60
const oneDay = 24 * oneHour

export async function createProvider(
  { Provider, errors }: typeof import('oidc-provider'),
  { issuer, audience, scopes, clients }: ResolvedDevIssuer,
  findUser: FindUser,
): Promise<Provider> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const resourceServer: ResourceServer = {
    scope: scopes.join(' '),
    audience,
    accessTokenTTL: oneHour,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg } },
  }
  const configuration: Configuration = {
    adapter: memoryAdapter(),
    clients: clients.map((client) => metadataOf(client, issuer, scopes)),
    cookies: {
      keys: [randomBytes(32).toString('base64url')],
      long: { path: '/oauth', httpOnly: true, sameSite: 'lax' },
    },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg, use: 'sig' }] },
    routes: endpoints,
    scopes: ['openid', ...scopes],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    enabledJWA: { idTokenSigningAlgValues: [alg] },
    interactions: { url: (_ctx, { uid }) => `${loginPath}/${uid}` },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: ({ oidc: { params, client } }) => {
          // A client that names no scope gets all that it may have (RFC 6749 §3.3).
          if (params?.grant_type === 'client_credentials') params.scope ??= client?.scope
          return audience
        },
        getResourceServerInfo: (_ctx, resource) => {
          if (resource !== audience) throw new errors.InvalidTarget()
          return resourceServer
        },
        useGrantedResource: () => true,
      },
    },
    ttl: {
      AccessToken: oneHour,
      ClientCredentials: oneHour,
      IdToken: oneHour,
      Interaction: oneHour,
      Session: oneDay,
      Grant: oneDay,
    },
    async findAccount(_ctx, id) {
      const user = await findUser(id)
      return user && { accountId: id, claims: async () => ({ sub: id, name: user.name }) }
    },
    // A page may have been opened by another name of this machine than the issuer's.
    clientBasedCORS: (_ctx, from, { redirectUris = [] }) =>
      redirectUris.some((uri) => new URL(uri).origin === from),
    async renderError(ctx, { error, error_description }) {
      const isPage = wantsPage(ctx.headers.accept)
      if (isPage) ctx.set(pageHeaders)
      ctx.body = isPage ? failurePage(`${error}: ${error_description ?? ''}`) : { error, error_description }
    },
    loadExistingGrant: (ctx) => consent(ctx, audience),
  }
  const provider = new Provider(issuer, configuration)
  // Its URLs are those of the issuer, whatever the request came by: `mountEndpoints` sets the header.
  provider.proxy = true

  provider.registerGrantType<{ readonly user_id?: string; readonly scope?: string }>(
    userGrant,
    async function giveUserToken(ctx) {
      const { client, params } = ctx.oidc
      const accountId = params.user_id ?? ''
      if ((await findUser(accountId)) === undefined)
        throw new errors.InvalidRequest('user_id: expected the id of a user')
      const allowed = (client.scope ?? '').split(' ').filter((name) => name !== 'openid')
      const scope = (params.scope?.split(' ') ?? allowed).filter((name) => allowed.includes(name)).join(' ')
      const grant = new provider.Grant({ clientId: client.clientId, accountId })
      grant.addResourceScope(audience, scope)
      const grantId = await grant.save()
      const token = new provider.AccessToken({ client, accountId, grantId, gty: userGrant, scope })
      token.resourceServer = new provider.ResourceServer(audience, resourceServer)
      ctx.body = {
        access_token: await token.save(),
        expires_in: token.expiration,
        token_type: token.tokenType,
        scope,
      }
    },
    ['user_id', 'scope'],
  )
  return provider
}

/** Whoever logs in agrees to all that the app asks for. */
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

function metadataOf(
  { id, secret, redirectUris = [], scopes }: DevClient,
  issuer: string,
  all: readonly string[],
): ClientMetadata {
  const allowed = scopes ?? all
  const shared = { client_id: id, id_token_signed_response_alg: alg } as const
  if (secret !== undefined) {
    return {
      ...shared,
      client_secret: secret,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      scope: allowed.join(' '),
    }
  }
  return {
    ...shared,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', userGrant],
    response_types: ['code'],
    redirect_uris: redirectUris.flatMap((uri) =>
      uri.startsWith('/') ? namesOf(issuer).map((name) => name + uri) : uri,
    ),
    scope: ['openid', ...allowed].join(' '),
  }
}

const loopback = ['127.0.0.1', 'localhost', '[::1]']

/** The names of an origin: a browser may know the machine that it runs on by another one. */
function namesOf(issuer: string): string[] {
  if (!loopback.includes(new URL(issuer).hostname)) return [issuer]
  return loopback.map((hostname) => Object.assign(new URL(issuer), { hostname }).origin)
}
