/** How many runs of a name are remembered. */
const remembered = 16

/** How long runs took lately, by the name of their work; for saying when it is worth to ask again. */
export class RunTimes {
  readonly #times = new Map<string, { readonly took: number[]; latest: number; usual: number }>()

  /**
   * Takes note of a run. One that ended no later than what is known is known already, or says nothing new: whoever asks
   * for an old operation over and over teaches nothing.
   *
   * @param took milliseconds from the start of the operation to its end
   * @param finishedAt when it ended
   */
  add(name: string, took: number, finishedAt: number): void {
    const known = this.#times.get(name) ?? { took: [], latest: Number.NEGATIVE_INFINITY, usual: 0 }
    if (finishedAt <= known.latest) return
    known.latest = finishedAt
    known.took.push(Math.max(took, 0))
    if (known.took.length > remembered) known.took.shift()
    // Not where it is asked for, which is more often.
    const sorted = [...known.took].sort((one, other) => one - other)
    known.usual = sorted[Math.ceil((sorted.length - 1) * 0.75)] ?? 0
    this.#times.set(name, known)
  }

  /**
   * Milliseconds in which a run is likely to be over: most of the last ones were by then. `null` where none is known.
   */
  usual(name: string): number | null {
    return this.#times.get(name)?.usual ?? null
  }
}
