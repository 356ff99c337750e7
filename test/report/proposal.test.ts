/** The block that a report proposes: pasted into the options of the preset, it makes the app boot. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { type ConventionsOptions, formatReport } from '../../src/index.js'

const caught = async (app: FastifyInstance) =>
  app.ready().then(
    () => null,
    ({ message }: Error) => message,
  )

async function appWith(options: ConventionsOptions, declare: (app: FastifyInstance) => unknown) {
  const app = Fastify()
  app.get('/v1/early/:id(^\\d+$)', async () => ({}))
  app.get('/v1/earlier', async () => ({}))
  await app.register(conventions, { rateLimit: false, ...options })
  declare(app)
  return app
}

function declare(app: FastifyInstance): void {
  const response = { 200: { type: 'object', properties: { Total: { type: 'integer' } } } }
  for (const path of ['/v1/user', '/v1/user/:id', "/v1/user/:id/it's"]) app.get(path, async () => ({}))
  for (const name of ['a', 'b', 'c', 'd']) app.get(`/v1/${name}s/Cased`, async () => ({}))
  app.get('/v1/sums', { schema: { response } }, async () => ({}))
  const querystring = { type: 'object', properties: { offset: { type: 'integer' } } }
  app.get('/v1/orders', { schema: { querystring } }, async () => ({}))
  app.get('/v1/orders/:id/parts', { schema: { querystring } }, async () => ({}))
}

t.test('the block makes the app boot, and stops a new route that breaks a rule that is on', async (t) => {
  const reporting = await appWith({ mode: 'report' }, declare)
  await reporting.ready()
  const [, block = ''] =
    /write the reasons:\n\n([\s\S]*?)\n\n/.exec(formatReport(reporting.conventions.report())) ?? []
  t.matchStrict(block, /^ {4}rules: \{ uppercase: 'off' \},$/m, 'broken in many places')
  t.matchStrict(block, /^ {6}\{ url: '\/v1\/user\/\*', except: \['plural'\]/m, 'one prefix')
  t.matchStrict(block, /^ {2}exceptions: \[\n.*'\/v1\/orders', except: \['lists'\]/m)
  t.matchStrict(block, /^ {2}earlierRoutes: \[\n.*'\/v1\/early\/:id\(\^\\\\d\+\$\)', reason/m)

  const options = new Function(`return {${block}}`)() as ConventionsOptions
  t.match(await caught(await appWith({}, declare)), /breaches of conventions/)
  t.equal(await caught(await appWith(options, declare)), null)
  const more = await appWith(options, (app) => {
    declare(app)
    app.get('/v1/thing', async () => ({}))
  })
  t.match(await caught(more), /^1 breach of conventions in 1 route\n[\s\S]*GET \/v1\/thing/)
})

t.test('nothing is proposed where nothing stops the boot, or where no option helps', async (t) => {
  const earlierRoutes = [{ url: '/v1/earl*', reason: 'a test' }]
  const app = await appWith({ mode: 'report', earlierRoutes }, (app) =>
    app.get('/v1/users', { config: { idempotancy: false } as object }, async () => ({})),
  )
  await app.ready()
  t.match(app.conventions.report().findings, [{ plugin: 'conventions', rule: 'config' }])
  t.notMatch(formatReport(app.conventions.report()), 'paste')
})
