import type { Answer } from './answers.js'
import type { BootScenario } from './scenario.js'

/**
 * Boots a variant in this process and gives the CPU time from its first line to ready, and its answers. A small app
 * boots first: what is measured is the work per route, not the loading of modules.
 */
export async function bootOnce(
  scenario: BootScenario,
  variantName: string,
): Promise<{ micros: number; answers: readonly Answer[] }> {
  const variant = scenario.variants[variantName]
  if (variant === undefined) throw new Error(`there is no variant '${variantName}'`)
  const first = await variant.build(1)
  await first.ready()
  await first.close()

  const before = process.cpuUsage()
  const app = await variant.build(scenario.routes)
  await app.ready()
  const { user, system } = process.cpuUsage(before)

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
  return { micros: user + system, answers }
}
