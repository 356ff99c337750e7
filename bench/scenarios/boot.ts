import Fastify, { type FastifyInstance } from 'fastify'
import { lists, pathGuard, problems, serverOptions } from 'fastify-conventions'
import { presetApp } from '../fixtures/apps.js'
import { user, userSchema, users } from '../fixtures/user.js'
import { bootScenario } from '../scenario.js'

/** What the work at boot costs a service with many routes. */
export default bootScenario({
  title: 'ready() of an app with 500 routes with response schemas',
  baseline: 'bare',
  routes: 500,
  requests: [{ target: '/v1/coll-1s/42' }, { target: '/v1/coll-250s' }],
  sameBody: true,
  bounds: { pathsAndProblems: { max: 1.5 }, preset: { max: 1.5 } },
  variants: {
    bare: { about: 'Fastify', build: (routes) => withRoutes(Fastify(), routes) },
    pathsAndProblems: {
      about: 'problems, pathGuard and lists alone',
      build: async (routes) => {
        const app = Fastify(serverOptions())
        await app.register(problems)
        await app.register(pathGuard)
        await app.register(lists)
        return withRoutes(app, routes)
      },
    },
    preset: {
      about: 'all conventions with their defaults',
      build: async (routes) => withRoutes(await presetApp(), routes),
    },
  },
})

/** Half of the routes are items, half of them lists. */
function withRoutes(app: FastifyInstance, routes: number): FastifyInstance {
  for (let route = 0; route < routes; route++) {
    const collection = `coll-${(route >> 1) + 1}s`
    if (route % 2 === 0) app.get(`/v1/${collection}/:id`, { schema: itemSchema() }, async () => user)
    else {
      const member = collection.replace('-', '_')
      app.get(`/v1/${collection}`, { schema: listSchema(member) }, async () => ({ [member]: users }))
    }
  }
  return app
}

// A schema of its own for every route, as in a real service: nothing that was compiled for one serves another.
function itemSchema() {
  return { response: { 200: structuredClone(userSchema) } }
}

function listSchema(member: string) {
  const items = structuredClone(userSchema)
  return { response: { 200: { type: 'object', properties: { [member]: { type: 'array', items } } } } }
}
