/** Lengths of the inputs that are compared: four times as long is four times the work, or sixteen where it is quadratic. */
const short = 16_384
const long = 4 * short

/** Growth of CPU time above which work is not linear: half way to quadratic on a logarithmic scale, and some noise. */
const limit = 10

/** CPU milliseconds below which noise is larger than what is measured. */
const negligible = 40

/** What is quadratic shows in every measurement; a compiler or collector at work does not. */
const measurements = 4

/**
 * The seeds on which the work grows faster than linearly in the length of its input, with their CPU milliseconds; empty
 * where all is well, and in mutation testing. CPU time is compared with CPU time of the same work, never with a clock: the
 * machine may be busy.
 */
export async function superlinearSeeds(
  seeds: readonly string[],
  work: (input: string) => unknown,
): Promise<string[]> {
  // Mutation testing would measure for seconds per mutant.
  if (process.env.MUTATE !== undefined) return []
  const found: string[] = []
  for (const seed of seeds) {
    const fault = await superlinear(work, seed)
    if (fault !== null) found.push(fault)
  }
  return found
}

/** Says how the work grows faster than linearly; `null` where one of a few measurements does not show it. */
async function superlinear(work: (input: string) => unknown, seed: string): Promise<string | null> {
  let fault: string | null = null
  for (let measurement = 0; measurement < measurements; measurement++) {
    const onShort = await cpuOf(work, seed, short)
    const onLong = await cpuOf(work, seed, long)
    if (onLong <= negligible || onLong <= limit * onShort) return null
    fault = `${JSON.stringify(seed)}: ${Math.round(onShort)} ms, ${Math.round(onLong)} ms`
  }
  return fault
}

/** The least of two runs: what a collection of garbage adds to one is not in it. */
async function cpuOf(work: (input: string) => unknown, seed: string, length: number): Promise<number> {
  const input = seed.repeat(Math.ceil(length / seed.length))
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 2; round++) {
    const before = process.cpuUsage()
    await work(input)
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}
