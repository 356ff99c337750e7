import type { Test } from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import {
  audienceOf,
  clientIds,
  clientSecrets,
  devIssuerOptions,
} from '../../examples/demo-server/authorization.js'
import type { Database } from '../../examples/demo-server/database.js'
import { migrate } from '../../examples/demo-server/migrations.js'
import { choosePlace } from '../../examples/demo-server/origin.js'
import { seed } from '../../examples/demo-server/seed.js'
import { readSettings } from '../../examples/demo-server/settings.js'
import type { Certificate } from '../../examples/demo-server/tls.js'

/** Starts the demo as `npm start` does, with its data and its authorization server, and stops it when the test ends. */
export async function serveEmbedded(
  t: Test,
  database: Database,
  certificate: Certificate | null = null,
): Promise<{ readonly origin: string }> {
  await migrate(database)
  await seed(database)
  const settings = readSettings({ PORT: '0', ...(certificate === null ? {} : { HTTPS: 'dev' }) })
  const { origin, port } = await choosePlace(settings)
  const app = await buildApp({
    database,
    certificate,
    bearer: { issuer: origin, audience: audienceOf(origin) },
    devIssuer: devIssuerOptions(clientSecrets('127.0.0.1'), database),
    sessions: { clientId: clientIds.app, secret: settings.sessionSecret },
    rateLimitMax: 1_000_000_000,
  })
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port })
  return { origin }
}
