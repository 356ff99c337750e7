// A program: prints by how much the heap grows over many distinct selections. Run it with --expose-gc.
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import Fastify from 'fastify'
import { fields } from '../../../src/plugins/fields/index.js'

const names = Array.from({ length: 20 }, (_, index) => `field_${index}`)
const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const inner = { type: 'object', properties: { id, a: text, b: text } }
const schema = {
  type: 'object',
  properties: Object.fromEntries(names.map((name, index) => [name, index % 4 === 0 ? inner : id])),
}
const value = Object.fromEntries(
  names.map((name, index) => [name, index % 4 === 0 ? { id: 1, a: 'a' } : index]),
)

const { ask, statuses } = await overRoutes()
const requests = await growth(2_000, 20_000, ask)
console.log(JSON.stringify({ requests, statuses: [...statuses].sort() }))

async function overRoutes() {
  const app = Fastify()
  await app.register(fields)
  const hidden = { 'field_0.b': ({ id }: { readonly id: string }) => id.endsWith('1') }
  app.get(
    '/v1/things/:id',
    { schema: { response: { 200: schema } }, config: { fields: { hidden } } },
    () => value,
  )
  const statuses = new Set<number>()
  const ask = async (number: number): Promise<void> => {
    const unknown = number % 2 === 0 ? '' : `,nope_${number}`
    const { statusCode } = await app.inject(`/v1/things/1?fields=${distinct(number)}${unknown}`)
    statuses.add(statusCode)
  }
  return { ask, statuses }
}

/** By how many bytes the heap grows over `rounds` calls, after `warmUp` others. */
async function growth(warmUp: number, rounds: number, call: (number: number) => unknown): Promise<number> {
  const callAll = async (from: number, to: number): Promise<number> => {
    for (let number = from; number < to; number++) {
      await call(number)
      // What a request leaves for the next turns of the event loop is not kept, only not yet let go.
      if (number % 100 === 0) await turnOfTheLoop()
    }
    await turnOfTheLoop()
    await turnOfTheLoop()
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  return -(await callAll(0, warmUp)) + (await callAll(warmUp, warmUp + rounds))
}

// Each number has names of its own: those of its digits, if there are as many digits as names.
function distinct(number: number): string {
  const digits = [1, 20, 400, 8000].map((unit) => Math.trunc(number / unit) % names.length)
  return digits.map((digit) => (digit === 0 ? 'field_0.a' : names[digit])).join()
}
