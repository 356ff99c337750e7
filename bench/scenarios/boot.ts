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

/** Half of the routes are items, half of them lists. A collection has a schema of its own, as in a real service. */
function withRoutes(app: FastifyInstance, routes: number): FastifyInstance {
  for (let route = 0; route < routes; route++) {
    const collection = `coll-${(route >> 1) + 1}s`
    const member = collection.replace('-', '_')
    if (route % 2 === 0)
      app.get(`/v1/${collection}/:id`, { schema: responseOf(itemSchema(member)) }, async () => user)
    else {
      const list = { type: 'object', properties: { [member]: { type: 'array', items: itemSchema(member) } } }
      app.get(`/v1/${collection}`, { schema: responseOf(list) }, async () => ({ [member]: users }))
    }
  }
  return app
}

/** Returns a schema that no other collection has, so that nothing compiled for one collection serves another. */
function itemSchema(member: string) {
  const { properties, ...rest } = structuredClone(userSchema)
  return { ...rest, properties: { ...properties, [`of_${member}`]: { type: 'string' } } }
}

function responseOf(schema: object) {
  return { response: { 200: schema } }
}
