import type { Test } from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import { clientIds, clientSecrets } from '../../examples/demo-server/authorization/clients.js'
import {
  type AuthorizationServer,
  createAuthorizationServer,
} from '../../examples/demo-server/authorization/server.js'
import type { Database } from '../../examples/demo-server/database.js'
import { migrate } from '../../examples/demo-server/migrations.js'
import { choosePlace } from '../../examples/demo-server/origin.js'
import { seed } from '../../examples/demo-server/seed.js'
import { audienceOf, readSettings } from '../../examples/demo-server/settings.js'
import type { Certificate } from '../../examples/demo-server/tls.js'

/** A demo with an authorization server of its own. */
export interface EmbeddedDemo {
  readonly origin: string
  readonly server: AuthorizationServer
}

/** Starts the demo as `npm start` does, with its data, and stops it when the test ends. */
export async function serveEmbedded(
  t: Test,
  database: Database,
  certificate: Certificate | null = null,
): Promise<EmbeddedDemo> {
  await migrate(database)
  await seed(database)
  const settings = readSettings({ PORT: '0', ...(certificate === null ? {} : { HTTPS: 'dev' }) })
  const { origin, port } = await choosePlace(settings)
  const secrets = clientSecrets('127.0.0.1')
  const audience = audienceOf(origin)
  const server = await createAuthorizationServer({ issuer: origin, audience, secrets, database })
  const app = await buildApp({
    database,
    certificate,
    bearer: server.bearer,
    authorizationServer: server,
    sessions: { clientId: clientIds.app, secret: settings.sessionSecret },
    rateLimitMax: 1_000_000_000,
  })
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port })
  return { origin, server }
}
