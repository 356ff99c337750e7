// Own process: measures memory
/** Nothing is kept of each selection without a bound. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import t from 'tap'
import { readMemory } from '../../../bench/memory.js'
import { fields } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { int64, object, text } from './one-route.js'

const names = Array.from({ length: 20 }, (_, index) => `field_${index}`)
const inner = object({ id: int64, a: text })

t.test('20,000 requests with distinct selections leave the heap where it was', async (t) => {
  const app = await appOf(fields)
  const user = object(Object.fromEntries(names.map((name) => [name, inner])))
  const hidden = { 'field_0.a': ({ id }: { readonly id: string }) => id.endsWith('1') }
  const options = { schema: { response: { 200: user } }, config: { fields: { hidden } } }
  app.get('/v1/users/:id', options, () => ({ field_1: { id: 1, a: 'a' } }))
  const statuses = new Set<number>()
  const send = async (from: number, to: number) => {
    for (let number = from; number < to; number++) {
      const digits = [1, 20, 400, 8000].map((unit) => names[Math.trunc(number / unit) % names.length])
      const unknown = number % 2 === 0 ? '' : `,nope_${number}`
      statuses.add((await app.inject(`/v1/users/1?fields=${digits.join()}${unknown}`)).statusCode)
      // What a request leaves for the next turns of the event loop is not kept, only not yet let go.
      if (number % 100 === 0) await turnOfTheLoop()
    }
    await turnOfTheLoop()
    return readMemory().heap
  }
  const grown = -(await send(0, 2_000)) + (await send(2_000, 22_000))
  // Selections are a few hundred bytes each: if all were kept it would be more.
  t.ok(grown < 4_000_000, `the heap grew by ${grown} bytes`)
  t.strictSame([...statuses], [200, 400], 'answered and refused')
})
