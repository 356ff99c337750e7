import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { pathGuard, problems } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { exchange, parseAnswers, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

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

t.test('with refusals: errorHandler, the error handler of the app gets the refusal', async (t) => {
  for (const order of ['before', 'after']) {
    const app = Fastify()
    const answer = async (error: Error & { code?: string }): Promise<object> => ({
      own: true,
      code: error.code,
    })
    if (order === 'before') app.setErrorHandler(answer)
    await app.register(problems, { mode: 'off', refusals: 'errorHandler' })
    await app.register(pathGuard)
    if (order === 'after') app.setErrorHandler(answer)
    app.get('/v1/users', async () => ({}))

    for (const url of ['/v1/Users', '/Nothing']) {
      t.strictSame((await app.inject(url)).json(), { own: true, code: 'path-uppercase' }, `${order}: ${url}`)
    }
  }
})

t.test('with an error handler of the app, a refusal has the right status', async (t) => {
  const app = Fastify()
  await app.register(pathGuard, { statusCode: 400 })
  app.setErrorHandler(async (error) => Promise.reject(error))
  const response = await app.inject('/v1/Users')

  t.equal(response.statusCode, 400)
})

t.test('with problems in report mode, a refusal is a problem document too', async (t) => {
  const app = Fastify()
  await app.register(problems, { mode: 'report' })
  await app.register(pathGuard)
  app.get('/v1/users/:id', async () => ({}))

  await refusesAsProblem(t, app)
})

t.test('the order of pathGuard and problems makes no difference', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  await app.register(problems)
  app.get('/v1/users/:id', async () => ({}))

  await refusesAsProblem(t, app)
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

t.test('HEAD is refused without a body', async (t) => {
  const { port } = await serve(t, await guardedApp({}))
  const bytes = await exchange(port, requestBytes('HEAD', '/v1/Users'))

  t.ok(bytes.endsWith('\r\n\r\n'), 'nothing after the headers')
  t.match(parseAnswers(bytes)[0], { status: 404, headers: { 'content-type': 'application/problem+json' } })
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
