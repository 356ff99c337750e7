import { type Answer, answerFaults, refuseFaults } from './answers.js'
import { startChild } from './child.js'
import { runRounds, type Samples } from './measure.js'
import type { BootScenario } from './scenario.js'

export interface BootSettings {
  readonly rounds: number
  readonly warmUps: number
}

/** Boots the apps of a scenario in interleaved rounds, each time in a fresh process. */
export async function runBoot(
  name: string,
  scenario: BootScenario,
  settings: BootSettings,
): Promise<Samples> {
  const { answers: expected } = await bootFresh(name, scenario.baseline)
  return runRounds({
    variants: Object.keys(scenario.variants),
    ...settings,
    measure: async (variant) => {
      const { figure, answers } = await bootFresh(name, variant)
      refuseFaults(variant, answerFaults(scenario.requests, answers, scenario.sameBody ? expected : null))
      return figure
    },
  })
}

async function bootFresh(
  name: string,
  variant: string,
): Promise<{ figure: number; answers: readonly Answer[] }> {
  const child = startChild(name, variant)
  try {
    return await child.ask({ ask: 'boot' })
  } finally {
    await child.stop()
  }
}
