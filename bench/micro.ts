import { isDeepStrictEqual } from 'node:util'
import { runRounds, type Samples } from './measure.js'
import type { MicroScenario, MicroVariant } from './scenario.js'

// Whatever the functions return ends here, so that no compiler takes their work for useless.
let sink: unknown

/** Runs the rounds of a scenario of pure functions in this process and gives CPU nanoseconds per call. */
export async function runMicro(scenario: MicroScenario, rounds: number, warmUps: number): Promise<Samples> {
  checkResults(scenario)
  return runRounds({
    variants: Object.keys(scenario.variants),
    rounds,
    warmUps,
    measure: (name) => nanosPerCall(variantOf(scenario, name), scenario.callsPerRound),
  })
}

function checkResults(scenario: MicroScenario): void {
  const expected = variantOf(scenario, scenario.baseline).run()
  for (const [name, variant] of Object.entries(scenario.variants)) {
    const result = variant.run()
    if (result === undefined) throw new Error(`variant '${name}' returns nothing`)
    if (scenario.sameResult && !isDeepStrictEqual(result, expected)) {
      throw new Error(`variant '${name}' returns ${String(result)}, the baseline ${String(expected)}`)
    }
  }
}

// One loop for all: the engine cannot inline the calls, so every variant pays the same few nanoseconds for being called.
// CPU time and not the clock: others may use the machine too.
function nanosPerCall({ run }: MicroVariant, calls: number): number {
  const before = process.cpuUsage()
  for (let call = 0; call < calls; call++) sink = run()
  const { user, system } = process.cpuUsage(before)
  return sink === undefined ? Number.NaN : ((user + system) * 1000) / calls
}

function variantOf(scenario: MicroScenario, name: string): MicroVariant {
  const variant = scenario.variants[name]
  if (variant === undefined) throw new Error(`there is no variant '${name}'`)
  return variant
}
