import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { bootOnce } from './boot.js'
import { readMemory } from './memory.js'
import type { Question, Replies } from './messages.js'
import { runMicro } from './micro.js'
import { collectWhileIdle, costOfTick } from './next-tick.mjs'
import type { GrowthScenario, Scenario } from './scenario.js'
import { findScenario } from './scenarios.js'

/*
 * The entry of a child process: runs one variant of a scenario (or a whole scenario of pure functions) and answers the
 * questions of the runner, one at a time.
 */

const [scenarioName = '', variantName = ''] = process.argv.slice(2)

// The loader of TypeScript maps stack traces back to the sources; a service in production does not pay for that.
process.setSourceMapsEnabled(false)
process.once('disconnect', () => process.exit(0))
// A terminal sends its Ctrl+C to this process too, but the runner decides when it ends.
process.on('SIGINT', () => undefined)

// The file of a profile is named after its process, not after what ran in it.
if (process.execArgv.includes('--cpu-prof')) console.error(`${process.pid}: ${scenarioName} ${variantName}`)

const scenario = await findScenario(scenarioName)
process.on('message', (question: Question) => {
  answer(scenario, question).then(
    (reply) => process.send?.(reply),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})

async function answer(
  scenario: Scenario | GrowthScenario,
  question: Question,
): Promise<Replies[Question['ask']]> {
  switch (question.ask) {
    case 'settle':
      await collectWhileIdle()
      return { tick: await costOfTick() }
    case 'cpu':
      return process.cpuUsage()
    case 'memory':
      return readMemory()
    case 'listen':
      return { port: await listen(await buildApp(scenario)) }
    case 'boot':
      return bootOnce(ofKind(scenario, 'boot'), variantName)
    case 'micro':
      return { samples: await runMicro(ofKind(scenario, 'micro'), question.rounds, question.warmUps) }
  }
}

async function buildApp(scenario: Scenario | GrowthScenario): Promise<FastifyInstance> {
  if (scenario.kind === 'memory') return scenario.build()
  const variant = ofKind(scenario, 'load').variants[variantName]
  if (variant === undefined) throw new Error(`'${scenarioName}' has no variant '${variantName}'`)
  return variant.build()
}

async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  // The connections of the driver stay open while the other variants have their turn.
  app.server.keepAliveTimeout = 600_000
  return (app.server.address() as AddressInfo).port
}

function ofKind<Kind extends Scenario['kind']>(
  scenario: Scenario | GrowthScenario,
  kind: Kind,
): Extract<Scenario, { kind: Kind }> {
  if (scenario.kind !== kind) throw new Error(`'${scenarioName}' is a ${scenario.kind} scenario, not ${kind}`)
  return scenario as Extract<Scenario, { kind: Kind }>
}
