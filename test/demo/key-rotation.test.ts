/** Keys are rotated while requests are served: by the demo whose keys they are, and by another one that fetches them. */

import type { AddressInfo } from 'node:net'
import { decodeProtectedHeader } from 'jose'
import t from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import { audienceOf } from '../../examples/demo-server/settings.js'
import { fasterClock } from '../support/faster-clock.js'
import { emptyEmbeddedDatabase } from './databases.js'
import { serveEmbedded } from './embedded.js'

const rotations = 6
const requestsPerKey = 40
const clients = 8

t.test(`no token is refused while keys are rotated ${rotations} times under load`, async (t) => {
  const database = await emptyEmbeddedDatabase()
  const { origin, server } = await serveEmbedded(t, database)
  // Keys live for hours, and here for parts of a second.
  const bearer = { issuer: origin, audience: audienceOf(origin), ...fasterClock(5) }
  const other = await buildApp({ database, bearer, rateLimitMax: 1_000_000_000 })
  t.teardown(() => other.close())
  await other.listen({ host: '127.0.0.1', port: 0 })
  const origins = [origin, `http://127.0.0.1:${(other.server.address() as AddressInfo).port}`]

  const statuses = new Map<string, number>()
  const keys = new Set<string | undefined>()
  const tokens = [await newToken()]
  let served = 0

  async function newToken(): Promise<string> {
    const response = await fetch(`${origin}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('demo-admin:demo-admin-secret')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    const { access_token } = (await response.json()) as { access_token: string }
    keys.add(decodeProtectedHeader(access_token).kid)
    return access_token
  }

  /** Uses a new token and an older one, at both demos. */
  async function send(): Promise<void> {
    const older = tokens[Math.floor(Math.random() * tokens.length)]
    const newer = await newToken()
    tokens.push(newer)
    const answers = origins.flatMap((at) =>
      [older, newer].map(async (token) => {
        const headers = { authorization: `Bearer ${token}` }
        const { status } = await fetch(`${at}/v1/users?limit=1&fields=id`, { headers })
        const seen = `${status} at the ${at === origin ? 'one' : 'other'}`
        statuses.set(seen, (statuses.get(seen) ?? 0) + 1)
      }),
    )
    await Promise.all(answers)
    served += 1
  }

  const total = (rotations + 1) * requestsPerKey
  const load = Array.from({ length: clients }, async () => {
    while (served < total) await send()
  })
  const rotating = (async () => {
    for (let rotation = 1; rotation <= rotations; rotation += 1) {
      while (served < rotation * requestsPerKey) await new Promise(setImmediate)
      await server.rotateKeys()
    }
  })()
  await Promise.all([...load, rotating])

  t.strictSame([...statuses.keys()].sort(), ['200 at the one', '200 at the other'])
  t.equal(keys.size, rotations + 1, 'each key has signed')
})
