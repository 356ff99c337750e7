import { randomBytes } from 'node:crypto'
import type { ClientMetadata } from 'oidc-provider'
import { adminScope, scopes, userScopes } from '../caller.js'

/** Ids of the clients of the authorization server. */
export const clientIds = { app: 'demo-app', admin: 'demo-admin', service: 'demo-service' } as const

/**
 * FOR DEVELOPMENT ONLY: the extension grant (RFC 6749 §4.5) that gives a token of any user to whoever asks for it, as the
 * login page does, but in one command.
 */
export const userGrantType = 'urn:fastify-conventions:demo:user'

/** Where the endpoints of the authorization server are, under the origin of the demo. */
export const endpoints = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  userinfo: '/oauth/userinfo',
  interaction: '/oauth/interaction',
} as const

/** The algorithm of all signatures. */
export const signingAlgorithm = 'ES256'

/** The secrets of the clients that have one. */
export interface ClientSecrets {
  readonly admin: string
  readonly service: string
}

/** The names of this machine, in URLs. */
const loopback = ['127.0.0.1', 'localhost', '[::1]']

/**
 * Returns the secrets: known ones where only this machine can reach the demo, so that a command can be copied from its
 * README; else random ones.
 *
 * @param host where the demo listens, such as `127.0.0.1` or `0.0.0.0`
 */
export function clientSecrets(host: string): ClientSecrets {
  if (loopback.includes(host) || host === '::1')
    return { admin: 'demo-admin-secret', service: 'demo-service-secret' }
  return { admin: randomBytes(24).toString('base64url'), service: randomBytes(24).toString('base64url') }
}

/**
 * The clients of the demo: an app that users log in to, which has no secret; and two programs that act for themselves.
 *
 * @param origin of the demo: the page at `/docs` is that app
 */
export function clientsOf(origin: string, { admin, service }: ClientSecrets): ClientMetadata[] {
  const shared = { id_token_signed_response_alg: signingAlgorithm } as const
  return [
    {
      ...shared,
      client_id: clientIds.app,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', userGrantType],
      response_types: ['code'],
      redirect_uris: originsOf(origin).flatMap((name) => [
        `${name}/docs/static/oauth2-redirect.html`,
        `${name}/login/callback`,
      ]),
      scope: ['openid', ...userScopes].join(' '),
    },
    { ...shared, ...program(clientIds.admin, admin, Object.keys(scopes)) },
    // It keeps the accounts: of all users, but orders and payments alone.
    {
      ...shared,
      ...program(clientIds.service, service, ['orders:read', 'payments:read', 'payments:write', adminScope]),
    },
  ]
}

function program(client_id: string, client_secret: string, allowed: readonly string[]): ClientMetadata {
  return {
    client_id,
    client_secret,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    scope: allowed.join(' '),
  }
}

/** The names of one origin: a browser may know the machine that it runs on by another one. */
function originsOf(origin: string): string[] {
  const { protocol, hostname, port } = new URL(origin)
  if (!loopback.includes(hostname)) return [origin]
  return loopback.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`)
}
