import t from 'tap'
import { understoodOptions } from '../../../src/plugins/rate-limit/options.js'

t.test('in report mode, the options of @fastify/rate-limit with the same meaning count', (t) => {
  const byPlan = () => 5
  const cases: readonly (readonly [given: unknown, understood: object | false | undefined])[] = [
    [undefined, undefined],
    [true, undefined],
    [false, false],
    [{}, {}],
    [
      { max: 2, timeWindow: '1 minute', ban: 3 },
      { max: 2, timeWindow: '1 minute' },
    ],
    [{ max: 2, timeWindow: 1 }, { max: 2 }],
    [{ max: 0, timeWindow: 5000 }, { timeWindow: 5000 }],
    [{ max: 1.5 }, {}],
    [{ max: '5' }, {}],
    [{ timeWindow: 'soon' }, {}],
    [{ max: byPlan, ban: 1 }, { max: byPlan }],
    [
      { cost: 5, count: 'failures', quotas: 3 },
      { cost: 5, count: 'failures', quotas: 3 },
    ],
  ]
  for (const [given, understood] of cases) {
    t.strictSame(understoodOptions(given), understood, JSON.stringify(given))
  }
  t.end()
})
