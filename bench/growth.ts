import { once } from 'node:events'
import { type AddressInfo, createConnection } from 'node:net'
import { hostileService, places, seeds } from './fixtures/hostile.js'
import type { Ratio } from './measure.js'
import type { SuiteReport } from './report.js'
import type { GrowthScenario } from './scenario.js'

/** What one text in one place of a request costs the server, by its length. */
export interface Growth {
  readonly place: string
  /** What the text repeats. */
  readonly seed: string
  /** CPU µs of a request, for each length. */
  readonly micros: readonly number[]
  /** By what the cost grows when the length doubles, on average over the lengths. */
  readonly perDoubling: number
}

/** CPU time for which requests are repeated within one measurement, in µs. */
const measured = 3_000

/**
 * Sends long texts to every place of a request that a convention reads, over a socket, and measures the CPU time of
 * each request with its client. A reader that is linear grows by at most 2 per doubling; one that is quadratic by 4.
 * A text above the bound is measured up to five times, and the least of each length counts.
 */
export async function measureGrowth(
  { lengths, maxPerDoubling }: GrowthScenario,
  rounds = 3,
): Promise<Growth[]> {
  const app = await hostileService()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  try {
    const rows: Growth[] = []
    for (const [place, { takes, request }] of Object.entries(places)) {
      for (const seed of seeds.filter(takes)) {
        const texts = lengths.map((length) => request(seed.repeat(Math.ceil(length / seed.length))))
        const micros = texts.map(() => Number.POSITIVE_INFINITY)
        // A neighbour on the machine can make one length dearer. Work that is not linear stays dearer.
        for (let tries = 0; tries < 5 && !(perDoubling(micros) <= maxPerDoubling); tries++) {
          for (const [index, text] of texts.entries()) {
            const cost = await cpuOf(() => exchange(port, text), rounds)
            micros[index] = Math.min(micros[index] ?? cost, cost)
          }
        }
        rows.push({ place, seed, micros, perDoubling: perDoubling(micros) })
      }
    }
    return rows
  } finally {
    await app.close()
  }
}

/** The mean growth from one measurement to the next. */
export function perDoubling(micros: readonly number[]): number {
  const [first = Number.NaN] = micros
  return ((micros.at(-1) ?? Number.NaN) / first) ** (1 / (micros.length - 1))
}

/** Of each place the text with the steepest growth, and every text above the bound, as ratios to linear growth. */
export function growthReport(
  name: string,
  { title, lengths, maxPerDoubling }: GrowthScenario,
  rows: readonly Growth[],
  facts: SuiteReport['facts'],
): SuiteReport {
  const steepestFirst = [...rows].sort((one, other) => other.perDoubling - one.perDoubling)
  const shown = steepestFirst.filter(
    (row, index) =>
      row.perDoubling > maxPerDoubling ||
      steepestFirst.findIndex(({ place }) => place === row.place) === index,
  )
  return {
    name,
    title,
    baseline: 'linear',
    unit: 'growth per doubling of the length',
    rows: [
      { variant: 'linear', about: '', cost: linear, ratio: exactly(1), bounds: [] },
      ...shown.map(({ place, seed, micros, perDoubling }) => ({
        variant: place,
        about: `\`${JSON.stringify(seed)}\`: CPU µs ${micros.map((value) => value.toFixed(0)).join(', ')}`,
        cost: perDoubling,
        ratio: exactly(perDoubling / linear),
        bounds: [{ max: maxPerDoubling / linear, ratio: exactly(perDoubling / linear) }],
      })),
    ],
    facts: {
      ...facts,
      Texts: rows.length,
      'Lengths in KB': lengths.map((length) => length / 1024).join(', '),
    },
  }
}

/** What linear work grows by when the length doubles. */
const linear = 2

function exactly(ratio: number): Ratio {
  return { value: ratio, min: ratio, max: ratio }
}

/** The least CPU time of a call in µs, of several measurements: neighbours on the machine only ever add. */
async function cpuOf(call: () => Promise<void>, rounds: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    let calls = 0
    let spent = 0
    const before = process.cpuUsage()
    do {
      await call()
      calls++
      const { user, system } = process.cpuUsage(before)
      spent = user + system
    } while (spent < measured)
    least = Math.min(least, spent / calls)
  }
  return least
}

/** Sends a request and reads to the end; throws where the server closes without an answer. */
export async function exchange(port: number, request: string): Promise<void> {
  const socket = createConnection(port, '127.0.0.1')
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
  })
  // The server may answer and close before it has read all: the answer counts.
  socket.on('error', () => {})
  socket.write(request)
  await once(socket, 'close')
  if (received === 0) throw new Error(`no answer to ${request.slice(0, 200)}`)
}
