import { presetApp, usualServers } from '../fixtures/apps.js'
import { users, usersSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const response = { 200: usersSchema }
const payload = Object.freeze({ users })

/** A page of a collection: serializing weighs more, the conventions weigh less. */
export default loadScenario({
  title: 'GET of a list: fifty items of ten declared fields, about 20 kB of JSON',
  baseline: 'bare',
  requests: [{ target: '/v1/users', headers: { accept: 'application/json' } }],
  requestsPerRound: 1_500,
  sameBody: true,
  bounds: { preset: [{ max: 1.2 }, { max: 1.05, to: 'handFastTicks' }], withoutFrontDoor: { max: 1.12 } },
  variants: {
    ...usualServers((app) => {
      app.get('/v1/users', { schema: { response } }, async () => payload)
    }),
    paged: {
      about: 'all conventions, and the route is paged by reply.list()',
      build: async () => {
        const app = await presetApp()
        app.get(
          '/v1/users',
          { config: { lists: { member: 'users', total: false } }, schema: { response } },
          async (_request, reply) => reply.list(users),
        )
        return app
      },
    },
  },
})
