import { readFileSync } from 'node:fs'
import { type Arguments, helpText, readArguments } from './arguments.js'
import { startChild } from './child.js'
import { growthReport, measureGrowth } from './growth.js'
import type { Samples } from './measure.js'
import { type SuiteReport, suiteReport, textReport } from './report.js'
import { readResults, writePage, writeResult } from './results.js'
import { runBoot } from './run-boot.js'
import { runImport } from './run-import.js'
import { runLoad } from './run-load.js'
import { runMemory } from './run-memory.js'
import type { GrowthScenario, Scenario } from './scenario.js'
import { findScenario, scenarioNames } from './scenarios.js'

const connections = 20

/** How much is measured. */
interface Plan {
  readonly rounds: Readonly<Record<Scenario['kind'], number>>
  readonly warmUps: Readonly<Record<Exclude<Scenario['kind'], 'memory'>, number>>
  readonly roundsPerStart: number
  /** The part of the requests of a round that is sent. */
  readonly share: number
}

const whole: Plan = {
  rounds: { load: 21, boot: 9, micro: 15, import: 15, memory: 5 },
  warmUps: { load: 10, boot: 1, micro: 3, import: 1 },
  roundsPerStart: 3,
  share: 1,
}
const quick: Plan = {
  rounds: { load: 8, boot: 5, micro: 9, import: 9, memory: 5 },
  warmUps: { load: 8, boot: 1, micro: 3, import: 1 },
  roundsPerStart: 4,
  share: 0.5,
}
const requestsPerRound = 4_000

try {
  await main()
  // A server that a scenario started for all of its variants would keep the process.
  process.exit(0)
} catch (error) {
  console.error(error)
  process.exit(1)
}

async function main(): Promise<void> {
  const known = scenarioNames()
  const args = argumentsOrExit(known)
  if (args.help) return console.log(helpText(known))
  if (args.page) for (const report of readResults().values()) await writeResult(report)
  for (const name of args.page ? [] : (args.names ?? known)) {
    const scenario = await findScenario(name)
    if (args.names === null && scenario.kind === 'memory') continue
    if (scenario.kind === 'load' && scenario.obstacle) {
      console.log(`${name}: left out, since ${scenario.obstacle}\n`)
      continue
    }
    const report = await runScenario(name, scenario, args)
    console.log(`${textReport(report)}\n`)
    await writeResult(report)
  }
  await writePage()
}

function argumentsOrExit(known: readonly string[]): Arguments {
  try {
    return readArguments(process.argv.slice(2), known)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${helpText(known)}`)
    return process.exit(2)
  }
}

async function runScenario(
  name: string,
  scenario: Scenario | GrowthScenario,
  args: Arguments,
): Promise<SuiteReport> {
  const facts = {
    Date: new Date().toISOString().slice(0, 10),
    'Node.js': process.versions.node,
    Fastify: fastifyVersion(),
  }
  if (scenario.kind === 'growth') {
    const rows = await measureGrowth(scenario, args.rounds ?? (args.quick ? 2 : undefined))
    return growthReport(name, scenario, rows, facts)
  }
  const plan = args.quick ? quick : whole
  const rounds =
    args.rounds ?? Math.min(scenario.rounds ?? Number.POSITIVE_INFINITY, plan.rounds[scenario.kind])
  const { samples, facts: more } = await measure(name, scenario, plan, rounds, args)
  return suiteReport(name, scenario, samples, { ...facts, 'Rounds that count': rounds, ...more })
}

interface Measured {
  readonly samples: Samples
  readonly facts: SuiteReport['facts']
}

async function measure(
  name: string,
  scenario: Scenario,
  { warmUps, roundsPerStart, share }: Plan,
  rounds: number,
  { requests: requestsAsked, rate }: Pick<Arguments, 'requests' | 'rate'>,
): Promise<Measured> {
  switch (scenario.kind) {
    case 'load': {
      const requests = requestsAsked ?? (scenario.requestsPerRound ?? requestsPerRound) * share
      const { samples, facts: found } = await runLoad(name, scenario, {
        rounds,
        warmUps: warmUps.load,
        requests,
        connections,
        rate: rate ?? null,
        roundsPerStart,
      })
      const facts = {
        ...found,
        ...(rate === undefined ? {} : { 'Requests per second': rate }),
        'Requests per variant and round': requests,
        Connections: connections,
        'Rounds per start of the servers': roundsPerStart,
      }
      return { samples, facts }
    }
    case 'boot': {
      const samples = await runBoot(name, scenario, { rounds, warmUps: warmUps.boot })
      return { samples, facts: { Routes: scenario.routes } }
    }
    case 'import':
      return { samples: await runImport(scenario, { rounds, warmUps: warmUps.import }), facts: {} }
    case 'memory':
      return {
        samples: await runMemory(name, scenario, { rounds, connections }),
        facts: { Connections: connections },
      }
    case 'micro':
      return {
        samples: await runMicroApart(name, { rounds, warmUps: warmUps.micro }),
        facts: { 'Calls per variant and round': scenario.callsPerRound },
      }
  }
}

async function runMicroApart(
  name: string,
  settings: { readonly rounds: number; readonly warmUps: number },
): Promise<Samples> {
  const child = startChild(name)
  try {
    return (await child.ask({ ask: 'micro', ...settings })).samples
  } finally {
    await child.stop()
  }
}

function fastifyVersion(): string {
  const manifest = new URL('../node_modules/fastify/package.json', import.meta.url)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
