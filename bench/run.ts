import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { type Arguments, helpText, readArguments } from './arguments.js'
import { chart } from './chart.js'
import { startChild } from './child.js'
import { growthReport, measureGrowth } from './growth.js'
import type { Samples } from './measure.js'
import { markdownReport, type SuiteReport, suiteReport, textReport } from './report.js'
import { runBoot } from './run-boot.js'
import { runLoad } from './run-load.js'
import type { Scenario } from './scenario.js'
import { findScenario, scenarioNames } from './scenarios.js'

const connections = 20
const roundsPerStart = 3
const warmUps: Readonly<Record<Scenario['kind'], number>> = { load: 10, boot: 1, micro: 3 }
const requestsPerRound = 4_000
const roundsByKind: Readonly<Record<Scenario['kind'], number>> = { load: 21, boot: 9, micro: 15 }
const results = new URL('./results/', import.meta.url)

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
  for (const name of args.names) {
    const scenario = await findScenario(name)
    await mkdir(results, { recursive: true })
    if (scenario.kind === 'growth') {
      const rows = await measureGrowth(scenario, args.rounds)
      const report = growthReport(name, scenario, rows)
      console.log(`${report}\n`)
      await writeFile(new URL(`${name}.md`, results), report)
      continue
    }
    if (scenario.kind === 'load' && scenario.obstacle) {
      console.log(`${name}: left out, since ${scenario.obstacle}\n`)
      continue
    }
    const report = await runScenario(name, scenario, args)
    console.log(`${textReport(report)}\n`)
    await writeFile(new URL(`${name}.md`, results), markdownReport(report))
    await writeFile(new URL(`${name}.svg`, results), chart(report))
  }
}

function argumentsOrExit(known: readonly string[]): Arguments {
  try {
    return readArguments(process.argv.slice(2), known)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${helpText(known)}`)
    return process.exit(2)
  }
}

async function runScenario(name: string, scenario: Scenario, args: Arguments): Promise<SuiteReport> {
  const rounds = args.rounds ?? scenario.rounds ?? roundsByKind[scenario.kind]
  const { samples, facts } = await measure(name, scenario, rounds, args.requests)
  return suiteReport(name, scenario, samples, {
    Date: new Date().toISOString().slice(0, 10),
    'Node.js': process.versions.node,
    Fastify: fastifyVersion(),
    'Rounds that count': rounds,
    ...facts,
  })
}

interface Measured {
  readonly samples: Samples
  readonly facts: SuiteReport['facts']
}

async function measure(
  name: string,
  scenario: Scenario,
  rounds: number,
  requestsAsked: number | undefined,
): Promise<Measured> {
  switch (scenario.kind) {
    case 'load': {
      const requests = requestsAsked ?? scenario.requestsPerRound ?? requestsPerRound
      const samples = await runLoad(name, scenario, {
        rounds,
        warmUps: warmUps.load,
        requests,
        connections,
        roundsPerStart,
      })
      const facts = {
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
    case 'micro':
      return {
        samples: await runMicroApart(name, rounds),
        facts: { 'Calls per variant and round': scenario.callsPerRound },
      }
  }
}

async function runMicroApart(name: string, rounds: number): Promise<Samples> {
  const child = startChild(name)
  try {
    return (await child.ask({ ask: 'micro', rounds, warmUps: warmUps.micro })).samples
  } finally {
    await child.stop()
  }
}

function fastifyVersion(): string {
  const manifest = new URL('../node_modules/fastify/package.json', import.meta.url)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
