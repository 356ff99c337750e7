/** The scenarios of the benchmark compare servers that do the same: each variant answers as its scenario declares. */
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { register } from 'tsx/esm/api'
import { type Answer, answerFaults, refuseFaults } from '../../bench/answers.js'
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

t.test('another status or body and a missing response are faults, which are refused', async (t) => {
  const asked = [
    { target: '/a', answer: '{"id":42}' },
    { method: 'POST', target: '/b', status: 201 },
  ]
  const [read, post] = [
    { status: 200, body: '{"id":42}' },
    { status: 201, body: '{"id":43}' },
  ]
  for (const [answers, baseline, faults] of [
    [[read, post], null, []],
    [[read, post], [read, post], []],
    [[{ status: 404, body: 'no' }, post], null, ['GET /a: expected 200, got 404 no']],
    [[read], null, ['POST /b: no answer']],
    [[{ ...read, body: '{}' }, post], null, ['GET /a: expected {"id":42}, got {}']],
    [[read, post], [read], ['POST /b: expected the body of the baseline, , got {"id":43}']],
  ] as const)
    t.same(answerFaults(asked, answers, baseline), faults)
  const message = "variant 'bare' does not answer as declared:\n  one\n  two"
  t.throws(() => refuseFaults('bare', ['one', 'two']), { message })
})

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
