import t from 'tap'
import { joined, median, ratioTo, rotated, runRounds, shares, summarize } from '../../bench/measure.js'

t.test('the median is the number in the middle, or between the two in the middle', async (t) => {
  t.equal(median([3]), 3)
  t.equal(median([9, 1, 5]), 5)
  t.equal(median([10, 2, 4, 8]), 6)
  const figures = [10, 9, 100]
  t.equal(median(figures), 10, 'numbers are compared as numbers')
  t.same(figures, [10, 9, 100], 'the figures stay in their order')
  t.throws(() => median([]), RangeError)
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

t.test('ratios are taken within a round, and of the cheapest third of the rounds', async (t) => {
  // The machine was ten times slower in the second round: the ratio of the medians would be 2.2.
  t.same(summarize({ bare: [10, 100, 20], preset: [11, 110, 44] }, 'bare'), [
    { variant: 'bare', cost: 20, ratio: { median: 1, cheapest: 1, min: 1, max: 1 } },
    { variant: 'preset', cost: 44, ratio: { median: 1.1, cheapest: 1.1, min: 1.1, max: 2.2 } },
  ])
  const [, preset] = summarize({ bare: [90, 10, 14, 30, 40, 50], preset: [12, 18, 70, 80, 60, 90] }, 'bare')
  t.equal(preset?.ratio.cheapest, 15 / 12, 'whichever they are')
  const samples = { bare: [1, 1], peers: [20, 40], preset: [10, 10] }
  t.same(ratioTo(samples, 'preset', 'peers'), { median: 0.375, cheapest: 0.5, min: 0.25, max: 0.5 })
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
