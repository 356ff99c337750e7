import { readdirSync } from 'node:fs'
import type { GrowthScenario, Scenario } from './scenario.js'

const folder = new URL('./scenarios/', import.meta.url)

/** The names of all scenarios: the files of `scenarios/`. */
export function scenarioNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort()
}

/** The scenario that the file of that name exports as its default. */
export async function findScenario(name: string): Promise<Scenario | GrowthScenario> {
  const { default: scenario } = (await import(new URL(`${name}.ts`, folder).href)) as {
    default?: Scenario | GrowthScenario
  }
  if (scenario === undefined) throw new Error(`bench/scenarios/${name}.ts has no default export`)
  return scenario
}
