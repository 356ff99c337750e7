import Fastify, { type FastifyInstance } from 'fastify'
import { maintenance, problems, serverOptions } from 'fastify-conventions'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const target = '/v1/users/42'
const windows = [{ from: '9999-01-01T00:00:00Z', until: '9999-01-02T00:00:00Z' }]

/** What the switch costs while it is off, and what it costs to be refused. */
export default loadScenario({
  title: 'GET of one item, with the switch for maintenance off and on',
  baseline: 'bare',
  requests: [{ target, headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: { off: { max: 1.05 }, on: { max: 2.5 } },
  variants: {
    bare: { about: 'Fastify', build: () => withItem(Fastify()) },
    hook: {
      about: 'Fastify with an onRequest hook that does nothing',
      build: () => withItem(Fastify().addHook('onRequest', (_request, _reply, next) => next())),
    },
    off: { about: 'maintenance alone, off, a window planned', build: async () => withItem(await service()) },
    on: {
      about: 'problems and maintenance, on: 503',
      sameBody: false,
      requests: [{ target, headers: { accept: 'application/json' }, status: 503 }],
      build: async () => {
        const app = withItem(await service(true))
        await app.maintenance.enable()
        return app
      },
    },
  },
})

function withItem(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  return app
}

async function service(withProblems = false): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  if (withProblems) await app.register(problems)
  await app.register(maintenance, { windows })
  return app
}
