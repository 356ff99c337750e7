/** One figure per variant and counted round, in the order of the rounds. */
export type Samples<Name extends string = string> = Readonly<Record<Name, readonly number[]>>

/** The cost of one variant to that of another. */
export interface Ratio {
  /** Of the costs. */
  readonly value: number
  /** Of the figures of one round. */
  readonly min: number
  readonly max: number
}

/** What the rounds say of one variant. */
export interface VariantSummary {
  readonly variant: string
  readonly cost: number
  /** To the baseline. */
  readonly ratio: Ratio
}

export interface RoundsPlan {
  readonly variants: readonly string[]
  /** Rounds before those that count. */
  readonly warmUps: number
  readonly rounds: number
  /** Runs in the middle of the warm-up rounds: collections throw compiled code away. */
  readonly settle?: () => Promise<void>
  /** Which variant starts the first round; for rounds that go on from others. @default 0 */
  readonly firstTurn?: number
  /** Runs one variant once and gives its figure. */
  readonly measure: (variant: string, counts: boolean) => number | Promise<number>
}

/**
 * Runs the variants one after another, round after round, so that what disturbs the machine disturbs them alike.
 * Each round starts with another variant. The warm-up rounds do not count.
 */
export async function runRounds(plan: RoundsPlan): Promise<Samples> {
  const samples = Object.fromEntries(plan.variants.map((variant) => [variant, [] as number[]]))
  const { warmUps, rounds, firstTurn = 0, settle } = plan
  for (let round = -warmUps; round < rounds; round++) {
    if (round === -Math.floor(warmUps / 2)) await settle?.()
    for (const variant of rotated(plan.variants, firstTurn + warmUps + round)) {
      const figure = await plan.measure(variant, round >= 0)
      if (round >= 0) samples[variant]?.push(figure)
    }
  }
  return samples
}

/** The figures of several runs of the same variants as those of one. */
export function joined(runs: readonly Samples[]): Samples {
  const variants = Object.keys(runs[0] ?? {})
  return Object.fromEntries(variants.map((variant) => [variant, runs.flatMap((run) => run[variant] ?? [])]))
}

/**
 * The cost of each variant, and its ratio to the baseline.
 *
 * @throws RangeError when a variant has not as many figures as the baseline, or the baseline cost nothing.
 */
export function summarize(samples: Samples, baseline: string): VariantSummary[] {
  return Object.entries(samples).map(([variant, figures]) => ({
    variant,
    cost: costOf(figures),
    ratio: ratioTo(samples, variant, baseline),
  }))
}

/**
 * The ratio of one variant to another.
 *
 * @throws RangeError when they have not as many figures, or the other cost nothing
 */
export function ratioTo(samples: Samples, variant: string, other: string): Ratio {
  const figures = samples[variant] ?? []
  const reference = samples[other] ?? []
  const byRound = ratios(variant, figures, other, reference)
  return {
    value: costOf(figures) / costOf(reference),
    min: Math.min(...byRound),
    max: Math.max(...byRound),
  }
}

/** The items, started at another one each turn. */
export function rotated<Item>(items: readonly Item[], turn: number): Item[] {
  const start = items.length === 0 ? 0 : turn % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

/** The mean of the cheapest third of the figures: other processes on a machine only add cost. */
export function costOf(figures: readonly number[]): number {
  const cheapest = figures.toSorted((a, b) => a - b).slice(0, Math.ceil(figures.length / 3))
  return cheapest.reduce((sum, figure) => sum + figure, 0) / cheapest.length
}

/** Splits a whole number into parts of at most `most` that differ by one at most. */
export function shares(total: number, most: number): number[] {
  const parts = Math.ceil(total / most)
  return Array.from({ length: parts }, (_, part) => Math.floor((total + part) / parts))
}

function ratios(
  variant: string,
  figures: readonly number[],
  other: string,
  reference: readonly number[],
): number[] {
  if (figures.length !== reference.length) {
    throw new RangeError(`'${variant}' has ${figures.length} figures, '${other}' ${reference.length}`)
  }
  return figures.map((figure, round) => {
    const base = reference[round] ?? 0
    if (base <= 0) throw new RangeError(`'${other}' cost nothing in round ${round + 1}: run longer rounds`)
    return figure / base
  })
}
