/** The scenarios of the benchmark compare servers that do the same: each variant answers as its scenario declares. */
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { register } from 'tsx/esm/api'
import { type Answer, answerFaults } from '../../bench/answers.js'
import type { BenchRequest } from '../../bench/scenario.js'
import { findScenario, scenarioNames } from '../../bench/scenarios.js'

// The others start a Redis, and compare times only.
const inProcess = scenarioNames().filter((name) => !/^operations-/.test(name))

// The scenarios are found by their file names.
const unregister = register()
for (const name of inProcess) {
  const scenario = await findScenario(name)
  if (scenario.kind !== 'load' || (scenario.obstacle ?? null) !== null) continue
  t.test(name, async (t) => {
    const { baseline, requests: shared, variants } = scenario
    let expected: readonly Answer[] | null = null
    for (const variant of new Set([baseline, ...Object.keys(variants)])) {
      const { build, requests = shared, sameBody = scenario.sameBody } = variants[variant] ?? {}
      const answers = await answersOf((await build?.()) as FastifyInstance, requests)
      expected ??= answers
      t.strictSame(answerFaults(requests, answers, sameBody ? expected : null), [], variant)
    }
  })
}
await unregister()

async function answersOf(app: FastifyInstance, requests: readonly BenchRequest[]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const { method = 'GET', target, headers = {}, body } of requests) {
    const payload = body === undefined ? {} : { payload: body }
    const answer = await app.inject({ method: method as 'GET', url: target, headers, ...payload })
    answers.push({ status: answer.statusCode, body: answer.body })
  }
  await app.close()
  return answers
}
