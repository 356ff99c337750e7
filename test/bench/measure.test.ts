import t from 'tap'
import { costOf, joined, ratioTo, rotated, runRounds, shares, summarize } from '../../bench/measure.js'

t.test('a cost is the mean of the cheapest third of the figures', async (t) => {
  const rows = [[3], [9, 10, 100], [100, 9, 10, 11], [90, 12, 14, 30, 40, 50]] as const
  t.same(rows.map(costOf), [3, 9, 9.5, 13], 'numbers are compared as numbers')
})

t.test('variants are rotated, and rounds shared out evenly', async (t) => {
  t.same(rotated(['a', 'b', 'c'], 0), ['a', 'b', 'c'])
  t.same(rotated(['a', 'b', 'c'], 5), ['c', 'a', 'b'])
  t.same(rotated([], 3), [])
  t.same(shares(21, 3), [3, 3, 3, 3, 3, 3, 3])
  t.same(shares(7, 3), [2, 2, 3])
  t.same(shares(1, 3), [1])
})

t.test('rounds interleave the variants, and each starts with another', async (t) => {
  const figures: Record<string, number[]> = { a: [1, 2, 3], b: [4, 5, 6], c: [7, 8, 9] }
  for (const [rounds, warmUps, firstTurn, order] of [
    [3, 0, 0, 'abcbcacab'],
    [1, 0, 2, 'cab'],
    [1, 1, 0, 'abcbca'],
  ] as const) {
    const calls: string[] = []
    const left = structuredClone(figures)
    const samples = await runRounds({
      variants: ['a', 'b', 'c'],
      warmUps,
      rounds,
      firstTurn,
      measure: async (variant) => calls.push(variant) && (left[variant]?.shift() ?? 0),
    })
    t.equal(calls.join(''), order)
    const counted = Object.entries(figures).map(([name, all]) => [name, all.slice(warmUps, warmUps + rounds)])
    t.same(samples, Object.fromEntries(counted), 'in the order of the rounds, without those that warm up')
  }
  const failing = () => Promise.reject(new Error('the server is gone'))
  const message = 'the server is gone'
  await t.rejects(runRounds({ variants: ['a'], warmUps: 0, rounds: 1, measure: failing }), { message })
})

t.test('the samples of several runs are joined', async (t) => {
  const samples = [
    { a: [1], b: [2] },
    { a: [3, 4], b: [5, 6] },
  ]
  t.same(joined(samples), { a: [1, 3, 4], b: [2, 5, 6] })
  t.same(joined([]), {})
})

t.test('a ratio is that of the costs; how far it reaches is taken within a round', async (t) => {
  // The machine was ten times slower in the second round.
  t.same(summarize({ bare: [10, 100, 20], preset: [11, 110, 44] }, 'bare'), [
    { variant: 'bare', cost: 10, ratio: { value: 1, min: 1, max: 1 } },
    { variant: 'preset', cost: 11, ratio: { value: 1.1, min: 1.1, max: 2.2 } },
  ])
  const samples = { bare: [1, 1], peers: [20, 40], preset: [10, 10] }
  t.same(ratioTo(samples, 'preset', 'peers'), { value: 0.5, min: 0.25, max: 0.5 })
})

t.test('figures without a counterpart are refused', async (t) => {
  const nobody = "'preset' has 1 figures, 'nobody' 0"
  t.throws(() => ratioTo({ preset: [10] }, 'preset', 'nobody'), { message: nobody })
  t.throws(() => summarize({ bare: [1, 2], preset: [1] }, 'bare'), {
    message: "'preset' has 1 figures, 'bare' 2",
  })
  t.throws(() => summarize({ preset: [1] }, 'bare'), RangeError)
  const free = "'bare' cost nothing in round 2: run longer rounds"
  t.throws(() => summarize({ bare: [1, 0], preset: [1, 1] }, 'bare'), { message: free })
})
