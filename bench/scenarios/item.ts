import { usualServers } from '../fixtures/apps.js'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const response = { 200: userSchema }

/** The plainest read there is: what a request pays for passing through the conventions. */
export default loadScenario({
  title: 'GET of one item: ten declared fields, about 400 bytes of JSON',
  baseline: 'bare',
  requests: [{ target: '/v1/users/42', headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: {
    preset: [{ max: 1.3 }, { max: 1.15, to: 'handFastTicks' }, { max: 0.6, to: 'peers' }],
    withoutFrontDoor: { max: 1.25 },
  },
  variants: usualServers((app) => {
    app.get('/v1/users/:id', { schema: { response } }, async () => user)
  }),
})
