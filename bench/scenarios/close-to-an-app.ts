import { setTimeout as delay } from 'node:timers/promises'
import { usualServers } from '../fixtures/apps.js'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const { properties } = userSchema
const body = { type: 'object', required: ['name'], properties: { name: properties.name } }

/** A request such as services have: a body that is validated, and a handler that waits for another server. */
export default loadScenario({
  title: 'PUT of one item with a validated body of JSON, to a handler that waits for 1 ms',
  baseline: 'bare',
  requests: [
    {
      method: 'PUT',
      target: '/v1/users/42',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: user.name }),
    },
  ],
  sameBody: true,
  variants: usualServers((app) => {
    app.put('/v1/users/:id', { schema: { body, response: { 200: userSchema } } }, async () => {
      await delay(1)
      return user
    })
  }),
})
