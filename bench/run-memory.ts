import { setTimeout as pause } from 'node:timers/promises'
import { startChild } from './child.js'
import { openDriver } from './driver.js'
import type { Samples } from './measure.js'
import type { MemoryScenario } from './scenario.js'

const betweenReadingsMs = 2_000

/** Sends different requests to one server, and gives its memory in MB after some of them, as often as there are rounds. */
export async function runMemory(
  name: string,
  scenario: MemoryScenario,
  { rounds, connections }: { readonly rounds: number; readonly connections: number },
): Promise<Samples> {
  const samples: Record<string, number[]> = {}
  const child = startChild(name)
  try {
    const { port } = await child.ask({ ask: 'listen' })
    const driver = await openDriver(port, [], connections)
    let sent = 0
    const variants = Object.entries(scenario.variants)
    const stops = [...new Set(variants.map(([, { after }]) => after))].sort((one, other) => one - other)
    for (const stop of stops) {
      await driver.sendEach(stop - sent, () => scenario.request(sent++))
      for (let round = 0; round < rounds; round++) {
        await pause(betweenReadingsMs)
        const reading = await child.ask({ ask: 'memory' })
        for (const [variant, { after, of }] of variants) {
          if (after !== stop) continue
          samples[variant] ??= []
          samples[variant].push(reading[of] / 1_000_000)
        }
      }
    }
    driver.close()
    return Object.fromEntries(variants.map(([variant]) => [variant, samples[variant] ?? []]))
  } finally {
    await child.stop()
  }
}
