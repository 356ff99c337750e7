// Own process: measures time
/** No text that a client can send costs the server more than linearly in its length. */
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { hostileService, places, seeds } from '../bench/fixtures/hostile.js'
import { exchange } from '../bench/growth.js'
import { superlinearSeeds } from './support/growth.js'

const app = await hostileService()
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => app.close())
const { port } = app.server.address() as AddressInfo

for (const [place, { takes, request }] of Object.entries(places)) {
  t.test(`the cost of a long text grows linearly: ${place}`, async (t) => {
    const texts = seeds.filter(takes)
    t.strictSame(await superlinearSeeds(texts, (text) => exchange(port, request(text))), [])
  })
}
