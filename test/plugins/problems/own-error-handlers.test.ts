import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

/** A service’s own error format, by which a test knows whose answer it sees. */
function answerInOwnFormat(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, code } = error as { readonly statusCode?: number; readonly code?: string }
  reply.code(statusCode).send({ own: true, code })
}

function answerInHtml(_error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  reply.code(500).type('text/html').send('<h1>Sorry</h1>')
}

const named = { schema: { body: { type: 'object', required: ['name'] } } }
const produced = { schema: { response: { 200: { type: 'object' } } } }

function addRoutes(app: FastifyInstance): void {
  app.get('/thrown', async () => Promise.reject(new Error('broken')))
  app.get('/written', async (_request, reply) => reply.code(409).send({ mine: true }))
  app.get('/produced', produced, async () => ({}))
  app.post('/validated', named, async () => ({}))
}

t.test('an error handler of the app wins in its scope (decisions §7, §10)', async (t) => {
  t.test('set before the plugin', async (t) => {
    const app = Fastify()
    app.setErrorHandler(answerInOwnFormat)
    await app.register(problems)
    addRoutes(app)
    await answersAreItsOwn(t, app)
  })

  t.test('set after the plugin', async (t) => {
    const app = Fastify()
    await app.register(problems)
    app.setErrorHandler(answerInOwnFormat)
    addRoutes(app)
    await answersAreItsOwn(t, app)
  })

  t.test('set after the plugin and after the routes', async (t) => {
    const app = Fastify()
    await app.register(problems)
    addRoutes(app)
    app.setErrorHandler(answerInOwnFormat)
    await answersAreItsOwn(t, app)
  })

  t.test('set before the whole preset', async (t) => {
    const app = Fastify()
    app.setErrorHandler(answerInOwnFormat)
    await app.register(conventions, { pathGuard: { rules: { version: 'off', plural: 'off' } } })
    addRoutes(app)
    await answersAreItsOwn(t, app)
    const upper = await app.inject('/Thrown')
    t.equal(upper.statusCode, 404)
    t.match(upper.json(), { own: true, code: 'path-uppercase' }, 'it sees the refusals of pathGuard too')
  })
})

t.test('an error handler of a child wins there; its siblings and the root have problems', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(
    async (child) => {
      child.setErrorHandler(answerInOwnFormat)
      addRoutes(child)
      child.register(async (grandchild) => addRoutes(grandchild), { prefix: '/below' })
    },
    { prefix: '/own' },
  )
  app.register(async (child) => addRoutes(child), { prefix: '/beside' })
  addRoutes(app)

  await answersAreItsOwn(t, app, '/own')
  await answersAreItsOwn(t, app, '/own/below')
  await answersAreProblems(t, app, '/beside')
  await answersAreProblems(t, app, '')
})

t.test('an error handler of a route wins for that route', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const own = { errorHandler: answerInOwnFormat }
  app.get('/own/thrown', own, async () => Promise.reject(new Error('broken')))
  app.get('/own/written', own, async (_request, reply) => reply.code(409).send({ mine: true }))
  app.get('/own/produced', { ...own, ...produced }, async () => ({}))
  app.post('/own/validated', { ...own, ...named }, async () => ({}))
  addRoutes(app)

  await answersAreItsOwn(t, app, '/own')
  await answersAreProblems(t, app, '')
})

t.test('what it answers is left alone, be it HTML', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(async (child) => {
    child.setErrorHandler(answerInHtml)
    child.get('/child', async () => Promise.reject(new Error('broken')))
  })
  app.get('/route', { errorHandler: answerInHtml }, async () => Promise.reject(new Error('broken')))

  for (const path of ['/child', '/route']) {
    const response = await app.inject(path)
    t.equal(response.statusCode, 500, path)
    t.equal(response.payload, '<h1>Sorry</h1>', path)
    t.match(response.headers['content-type'], 'text/html', path)
  }
})

t.test(
  'an error handler that passes an error on, or fails itself, is answered by the plugin above it',
  async (t) => {
    const app = Fastify()
    await app.register(problems)
    app.register(async (child) => {
      child.setErrorHandler((error, _request, reply) => void reply.send(error))
      child.get('/passed-on', async () =>
        Promise.reject(Object.assign(new Error('paid'), { statusCode: 409 })),
      )
    })
    app.register(async (child) => {
      child.setErrorHandler(async () => Promise.reject(new Error('secret')))
      child.get('/failed', async () => Promise.reject(new Error('broken')))
    })

    const passedOn = injected(await app.inject('/passed-on'))
    isProblem(t, passedOn, { status: 409, code: 'conflict', detail: 'paid' })
    const failed = injected(await app.inject('/failed'))
    isProblem(t, failed, { status: 500, code: 'internal-server-error' })
    t.notMatch(failed.body, 'secret')
  },
)

async function answersAreItsOwn(t: Test, app: FastifyInstance, prefix = ''): Promise<void> {
  const table = [
    ['GET', '/thrown', 500, { own: true }],
    ['GET', '/written', 409, { mine: true }],
    ['GET', '/produced', 406, { own: true, code: 'not-acceptable' }],
    ['POST', '/validated', 400, { own: true, code: 'FST_ERR_VALIDATION' }],
  ] as const
  for (const [method, path, status, body] of table) {
    const response = await app.inject({
      method,
      url: prefix + path,
      headers: { accept: 'text/html' },
      ...bodyOf(method),
    })
    t.equal(response.statusCode, status, `${prefix}${path}`)
    t.strictSame(response.json(), body, `${prefix}${path}`)
  }
}

async function answersAreProblems(t: Test, app: FastifyInstance, prefix: string): Promise<void> {
  const table = [
    ['GET', '/thrown', 500, 'internal-server-error'],
    ['GET', '/written', 409, 'conflict'],
    ['GET', '/produced', 406, 'not-acceptable'],
    ['POST', '/validated', 400, 'validation'],
  ] as const
  for (const [method, path, status, code] of table) {
    const response = await app.inject({
      method,
      url: prefix + path,
      headers: { accept: 'text/html' },
      ...bodyOf(method),
    })
    isProblem(t, injected(response), { status, code }, `${prefix}${path}`)
  }
}

function bodyOf(method: 'GET' | 'POST'): { payload?: object } {
  return method === 'POST' ? { payload: {} } : {}
}
