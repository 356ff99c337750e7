import t from 'tap'
import { joined, median, ratioTo, rotated, runRounds, shares, summarize } from '../../bench/measure.js'

t.test('median', async (t) => {
  t.equal(median([3]), 3)
  t.equal(median([9, 1, 5]), 5, 'of an odd number: the one in the middle')
  t.equal(median([10, 2, 4, 8]), 6, 'of an even number: between the two in the middle')
  t.equal(median([10, 9, 100]), 10, 'numbers are compared as numbers')
  const figures = [3, 1, 2]
  median(figures)
  t.same(figures, [3, 1, 2], 'the figures stay in their order')
  t.throws(() => median([]), RangeError)
})

t.test('rotated', async (t) => {
  t.same(rotated(['a', 'b', 'c'], 0), ['a', 'b', 'c'])
  t.same(rotated(['a', 'b', 'c'], 1), ['b', 'c', 'a'])
  t.same(rotated(['a', 'b', 'c'], 5), ['c', 'a', 'b'])
  t.same(rotated([], 3), [])
})

t.test('shares', async (t) => {
  t.same(shares(21, 3), [3, 3, 3, 3, 3, 3, 3])
  t.same(shares(7, 3), [2, 2, 3])
  t.same(shares(1, 3), [1])
  for (let total = 1; total <= 40; total++) {
    const parts = shares(total, 3)
    t.equal(
      parts.reduce((sum, part) => sum + part, 0),
      total,
    )
    t.ok(parts.every((part) => part >= 1 && part <= 3))
  }
})

t.test('runRounds', async (t) => {
  t.test('interleaves the variants and starts each round with another', async (t) => {
    const calls: string[] = []
    await runRounds({
      variants: ['a', 'b', 'c'],
      warmUps: 0,
      rounds: 3,
      measure: (variant) => calls.push(variant),
    })
    t.equal(calls.join(''), 'abcbcacab')
  })

  t.test('does not count the warm-up rounds', async (t) => {
    let runs = 0
    const samples = await runRounds({
      variants: ['a', 'b'],
      warmUps: 2,
      rounds: 1,
      measure: async () => ++runs,
    })
    t.same(samples, { a: [5], b: [6] })
  })

  t.test('continues the rotation of earlier rounds', async (t) => {
    const calls: string[] = []
    await runRounds({
      variants: ['a', 'b', 'c'],
      warmUps: 0,
      rounds: 1,
      firstTurn: 2,
      measure: (variant) => calls.push(variant),
    })
    t.equal(calls.join(''), 'cab')
  })

  t.test('keeps the figures of a variant in the order of the rounds', async (t) => {
    const figures: Record<string, number[]> = { a: [1, 2, 3], b: [4, 5, 6] }
    const left = structuredClone(figures)
    const samples = await runRounds({
      variants: ['a', 'b'],
      warmUps: 0,
      rounds: 3,
      measure: (variant) => left[variant]?.shift() ?? 0,
    })
    t.same(samples, figures)
  })

  t.test('ends with the error of a variant', async (t) => {
    const failing = () => Promise.reject(new Error('the server is gone'))
    await t.rejects(runRounds({ variants: ['a'], warmUps: 0, rounds: 1, measure: failing }), {
      message: 'the server is gone',
    })
  })
})

t.test('joined', async (t) => {
  t.same(
    joined([
      { a: [1], b: [2] },
      { a: [3, 4], b: [5, 6] },
    ]),
    { a: [1, 3, 4], b: [2, 5, 6] },
  )
  t.same(joined([]), {})
})

t.test('summarize', async (t) => {
  t.test('takes each ratio within its round', async (t) => {
    // The machine was ten times slower in the second round: the ratio of the medians would be 2.2.
    const summaries = summarize({ bare: [10, 100, 20], preset: [11, 110, 44] }, 'bare')
    t.same(summaries, [
      { variant: 'bare', cost: 20, ratio: { median: 1, cheapest: 1, min: 1, max: 1 } },
      { variant: 'preset', cost: 44, ratio: { median: 1.1, cheapest: 1.1, min: 1.1, max: 2.2 } },
    ])
  })

  t.test('compares the cheapest third of the rounds, whichever they are', async (t) => {
    const [, preset] = summarize({ bare: [90, 10, 14, 30, 40, 50], preset: [12, 18, 70, 80, 60, 90] }, 'bare')
    t.equal(preset?.ratio.cheapest, 15 / 12)
  })

  t.test('recognizes a variant that is cheaper than the baseline', async (t) => {
    const [, cheaper] = summarize({ full: [40, 40], narrow: [10, 20] }, 'full')
    t.same(cheaper?.ratio, { median: 0.375, cheapest: 0.25, min: 0.25, max: 0.5 })
  })

  t.test('compares any two variants', async (t) => {
    const samples = { bare: [1, 1], peers: [20, 40], preset: [10, 10] }
    t.same(ratioTo(samples, 'preset', 'peers'), { median: 0.375, cheapest: 0.5, min: 0.25, max: 0.5 })
    t.throws(() => ratioTo(samples, 'preset', 'nobody'), {
      message: "'preset' has 2 figures, 'nobody' 0",
    })
  })

  t.test('refuses figures without a counterpart', async (t) => {
    t.throws(() => summarize({ bare: [1, 2], preset: [1] }, 'bare'), {
      message: "'preset' has 1 figures, 'bare' 2",
    })
    t.throws(() => summarize({ preset: [1] }, 'bare'), RangeError)
    t.throws(() => summarize({ bare: [1, 0], preset: [1, 1] }, 'bare'), {
      message: "'bare' cost nothing in round 2: run longer rounds",
    })
  })
})
