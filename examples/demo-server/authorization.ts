import { randomBytes } from 'node:crypto'
import type { DevIssuerOptions } from 'fastify-conventions/dev-issuer'
import { adminScope, scopes, userIdOf, userScopes } from './caller.js'
import type { Database } from './database.js'

/** Ids of the clients: an app that users log in to, and two programs that act for themselves. */
export const clientIds = { app: 'demo-app', admin: 'demo-admin', service: 'demo-service' } as const

export interface ClientSecrets {
  readonly admin: string
  readonly service: string
}

// Known ones where only this machine can reach the demo, so that a command can be copied from its README.
export function clientSecrets(host: string): ClientSecrets {
  if (['127.0.0.1', 'localhost', '::1'].includes(host))
    return { admin: 'demo-admin-secret', service: 'demo-service-secret' }
  return { admin: randomBytes(24).toString('base64url'), service: randomBytes(24).toString('base64url') }
}

export function devIssuerOptions({ admin, service }: ClientSecrets, database: Database) {
  return {
    scopes: Object.keys(scopes),
    clients: [
      {
        id: clientIds.app,
        redirectUris: ['/docs/static/oauth2-redirect.html', '/login/callback'],
        scopes: userScopes,
      },
      { id: clientIds.admin, secret: admin },
      // It keeps the accounts: of all users, but orders and payments alone.
      {
        id: clientIds.service,
        secret: service,
        scopes: ['orders:read', 'payments:read', 'payments:write', adminScope],
      },
    ],
    async users(id?: string) {
      const users = database.selectFrom('users').select(['id', 'name']).orderBy('id').limit(20)
      const found = await (id === undefined ? users : users.where('id', '=', userIdOf(id))).execute()
      return found.map((user) => ({ ...user, id: String(user.id) }))
    },
  } satisfies Omit<DevIssuerOptions, 'issuer' | 'audience'>
}

/** The API that tokens are for, where nothing else is agreed on: instances of the demo may have one issuer. */
export function audienceOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/v1`
}
