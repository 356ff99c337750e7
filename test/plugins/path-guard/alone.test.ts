import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { pathGuard } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

t.test('without the plugin problems, a refusal of pathGuard is a problem document too', async (t) => {
  const app = await guardedApp({})

  await refusesAsProblem(t, app)
  t.match((await app.inject('/nothing')).json(), { statusCode: 404 }, 'the other errors are Fastify’s')
})

t.test('a refusal is logged, with the request id in its instance', async (t) => {
  const logs = keepLogs('info')
  const app = await guardedApp({ logger: logs.logger })
  const document = (await app.inject('/v1/Users')).json()

  const line = logs.lines.find(({ msg }) => msg === 'A path is lowercase: /v1/users')
  t.equal(line?.level, levels.info)
  t.equal(document.instance, `urn:request:${line?.reqId}`)
})

t.test('hooks of the app that are added before the plugin run, those added after it do not', async (t) => {
  const steps: string[] = []
  const app = Fastify()
  app.addHook('onRequest', async () => void steps.push('first'))
  await app.register(pathGuard)
  app.addHook('onRequest', async () => void steps.push('later'))
  app.addHook('preHandler', async () => void steps.push('preHandler'))
  app.addHook('onSend', async () => void steps.push('onSend'))
  app.addHook('onResponse', async () => void steps.push('onResponse'))
  app.get('/v1/users', async () => ({}))
  await app.inject('/v1/Users')

  t.strictSame(steps, ['first', 'onSend', 'onResponse'])
})

async function guardedApp(options: FastifyServerOptions): Promise<FastifyInstance> {
  const app = Fastify(options)
  await app.register(pathGuard)
  app.get('/v1/users/:id', async () => ({}))
  return app
}

async function refusesAsProblem(t: Test, app: FastifyInstance): Promise<void> {
  const table = [
    ['/v1/users/AbC', 'path-uppercase'],
    ['/v1/users/a%20b', 'path-encoded'],
    ['/Nothing', 'path-uppercase'],
  ] as const
  for (const [url, code] of table) {
    const document = isProblem(t, injected(await app.inject(url)), { status: 404, code }, url)
    t.match(document.instance, /^urn:request:req-/, `${url}: the occurrence`)
  }
}
