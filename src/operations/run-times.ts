/** How many runs of a name are remembered. */
const remembered = 16

/** How long runs took lately, by the name of their work; for saying when it is worth to ask again. */
export class RunTimes {
  readonly #times = new Map<string, number[]>()

  /** @param milliseconds from the start of the operation to its end */
  add(name: string, milliseconds: number): void {
    const times = this.#times.get(name) ?? []
    if (times.length === 0) this.#times.set(name, times)
    times.push(Math.max(milliseconds, 0))
    if (times.length > remembered) times.shift()
  }

  /**
   * Milliseconds in which a run is likely to be over: most of the last ones were by then. `null` where none is known.
   */
  usual(name: string): number | null {
    const times = this.#times.get(name)
    if (times === undefined) return null
    const sorted = [...times].sort((one, other) => one - other)
    return sorted[Math.ceil((sorted.length - 1) * 0.75)] ?? null
  }
}
