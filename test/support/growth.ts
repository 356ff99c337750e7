/** The longer input is so much longer than the shorter one. Linear work grows as much, quadratic work sixteenfold. */
const factor = 4

/** Lengths of the shorter input, one for each measurement: quadratic work shows in each, a collector at work does not. */
const shortLengths = [16_384, 32_768, ...Array.from({ length: 6 }, () => 65_536)]

/** Growth of CPU time above which work is not linear: half way to quadratic on a logarithmic scale, and some noise. */
const limit = 10

/** CPU milliseconds below which noise is larger than what is measured. */
const negligible = 40

/**
 * The seeds on which the work grows faster than linearly in the length of its input, with their CPU milliseconds; none in
 * mutation testing. CPU time is compared with that of the same work, never with a clock: the machine may be busy.
 */
export async function superlinearSeeds(seeds: readonly string[], work: (input: string) => unknown) {
  // Mutation testing would measure for seconds per mutant.
  if (process.env.MUTATE !== undefined) return []
  const found: string[] = []
  for (const seed of seeds) {
    let fault = ''
    for (const short of shortLengths) {
      const onShort = await cpuOf(work, seed, short)
      const onLong = await cpuOf(work, seed, factor * short)
      const isLinear = onLong <= negligible || onLong <= limit * onShort
      fault = isLinear ? '' : `${JSON.stringify(seed)}: ${Math.round(onShort)} ms, ${Math.round(onLong)} ms`
      // One measurement that does not show it is enough.
      if (isLinear) break
    }
    if (fault !== '') found.push(fault)
  }
  return found
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
