/** The routes of the demo keep the conventions, by the probes that the package has for apps. */
import { assertConventions } from 'fastify-conventions/testing'
import t from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import { firstId, migrate } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { emptyDatabase } from './databases.js'
import { adminToken, issuer } from './issuer.js'

t.test('all routes of the demo keep the conventions', async (t) => {
  const database = await emptyDatabase(t)
  await migrate(database)
  await seed(database)
  const { options: bearer } = await issuer()
  const app = await buildApp({ database, bearer, rateLimitMax: 1_000_000_000 })
  t.teardown(() => app.close())
  const report = await assertConventions(app, {
    headers: { authorization: `Bearer ${await adminToken()}` },
    // The alias of a collection has no list.
    params: (name, url) => (url.startsWith('/v1/user/') && name === 'id' ? String(firstId) : undefined),
    exceptions: [
      { url: '/playground/quota', reason: 'its quota is smaller than the number of probes' },
      ...['/', '/.well-known/*', '/docs*', '/health', '/openapi.json', '/playground*'].map((url) => ({
        url,
        except: ['caching', 'fields', 'pathGuard', 'securityHeaders'] as const,
        reason: 'hidden from the OpenAPI document: not part of the API',
      })),
    ],
    writes: true,
  })
  t.ok(report.verdicts.length > 500, String(report.verdicts.length))
  t.strictSame([...report.notProbed].sort(), [
    '/docs/static/*',
    '/playground/*',
    '/playground/docs/:name',
    '/v1/operations/:id',
    '/v1/operations/:id/status',
  ])
})
