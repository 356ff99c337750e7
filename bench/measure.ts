/** One figure per variant and counted round, in the order of the rounds. */
export type Samples<Name extends string = string> = Readonly<Record<Name, readonly number[]>>

/** Where the middle of some ratios is, and how far they reach. */
export interface Spread {
  readonly median: number
  /** The mean of the cheapest rounds to that of the other variant: neighbours on a machine only ever add. */
  readonly cheapest: number
  readonly min: number
  readonly max: number
}

/** What the rounds say of one variant. */
export interface VariantSummary {
  readonly variant: string
  /** The median of its own figures. */
  readonly cost: number
  /** Of its ratios to the baseline, each taken within one round. */
  readonly ratio: Spread
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
 * The median cost of each variant, and its ratio to the baseline: the median of the ratios of the rounds, because
 * two figures of the same round met the same machine.
 *
 * @throws RangeError when a variant has not as many figures as the baseline, or the baseline cost nothing.
 */
export function summarize(samples: Samples, baseline: string): VariantSummary[] {
  return Object.entries(samples).map(([variant, figures]) => ({
    variant,
    cost: median(figures),
    ratio: ratioTo(samples, variant, baseline),
  }))
}

/**
 * The ratios of one variant to another, each taken within one round.
 *
 * @throws RangeError when they have not as many figures, or the other cost nothing
 */
export function ratioTo(samples: Samples, variant: string, other: string): Spread {
  const figures = samples[variant] ?? []
  const reference = samples[other] ?? []
  const byRound = ratios(variant, figures, other, reference)
  return {
    median: median(byRound),
    cheapest: cheapestMean(figures) / cheapestMean(reference),
    min: Math.min(...byRound),
    max: Math.max(...byRound),
  }
}

/** The items, started at another one each turn. */
export function rotated<Item>(items: readonly Item[], turn: number): Item[] {
  const start = items.length === 0 ? 0 : turn % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

/** @throws RangeError when there are no figures. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const upper = sorted[sorted.length >> 1]
  const lower = sorted[(sorted.length - 1) >> 1]
  if (upper === undefined || lower === undefined) throw new RangeError('there is no median of no figures')
  return (lower + upper) / 2
}

/** Splits a whole number into parts of at most `most` that differ by one at most. */
export function shares(total: number, most: number): number[] {
  const parts = Math.ceil(total / most)
  return Array.from({ length: parts }, (_, part) => Math.floor((total + part) / parts))
}

/** The mean of the cheapest third of the figures. */
function cheapestMean(figures: readonly number[]): number {
  const cheapest = figures.toSorted((a, b) => a - b).slice(0, Math.ceil(figures.length / 3))
  return cheapest.reduce((sum, figure) => sum + figure, 0) / cheapest.length
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
