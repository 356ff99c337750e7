import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Answer } from './answers.js'
import { readMemory } from './memory.js'
import type { BootScenario } from './scenario.js'

/**
 * Boots a variant in this process and gives its figure and its answers: the CPU time in ms from its first line to ready, or
 * what the scenario measures instead. A small app boots first: what is measured is the work per route, not the loading of
 * modules.
 */
export async function bootOnce(
  scenario: BootScenario,
  variantName: string,
): Promise<{ figure: number; answers: readonly Answer[] }> {
  const variant = scenario.variants[variantName]
  if (variant === undefined) throw new Error(`there is no variant '${variantName}'`)
  const first = await variant.build(1)
  await first.ready()
  if (scenario.measures === 'document') first.swagger()
  await first.close()

  const boot = async (): Promise<FastifyInstance> => {
    const app = await variant.build(scenario.routes)
    return app.ready().then(() => app)
  }
  let [app, figure]: [FastifyInstance | null, number] = [null, 0]
  if (scenario.measures === 'heap') {
    const before = readMemory().heap
    app = await boot()
    figure = (readMemory().heap - before) / 1e6
  } else {
    if (scenario.measures === 'document') {
      app = await boot()
      // V8 still compiles what the boot has run.
      await setTimeout(500)
    }
    const before = process.cpuUsage()
    if (app === null) app = await boot()
    else app.swagger()
    const { user, system } = process.cpuUsage(before)
    figure = (user + system) / 1000
  }

  const answers: Answer[] = []
  for (const { method = 'GET', target, headers = {}, body } of scenario.requests) {
    const response = await app.inject({
      method: method as 'GET',
      url: target,
      headers,
      ...(body === undefined ? {} : { payload: body }),
    })
    answers.push({ status: response.statusCode, body: response.body })
  }
  await app.close()
  return { figure, answers }
}
