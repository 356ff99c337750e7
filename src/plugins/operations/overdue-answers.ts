/** Options of {@link OverdueAnswers}. */
export interface OverdueAnswersOptions {
  /** Answers that may be overdue before no more is asked. */
  readonly max: number
  /** Milliseconds after which it is tried all the same. */
  readonly retryAfter: number
  readonly now: () => number
}

/**
 * Knows whether it is worth to ask a server that does not answer. What is asked of it stays with its client, which keeps
 * without a bound what it cannot send; so where many answers are overdue it is asked once in a while, until one comes.
 */
export class OverdueAnswers {
  readonly #options: OverdueAnswersOptions
  readonly #answers = new Set<Promise<unknown>>()
  #retryAt = 0

  constructor(options: OverdueAnswersOptions) {
    this.#options = options
  }

  /** Whether the server may be asked now. */
  mayAsk(): boolean {
    const { max, retryAfter, now } = this.#options
    if (this.#answers.size < max) return true
    const time = now()
    if (time < this.#retryAt) return false
    this.#retryAt = time + retryAfter
    return true
  }

  /** Notes an answer that did not come in time. */
  add(answer: Promise<unknown>): void {
    const { max, retryAfter, now } = this.#options
    if (this.#answers.size >= max) return
    this.#answers.add(answer)
    this.#retryAt = now() + retryAfter
    const settle = () => void this.#answers.delete(answer)
    answer.then(settle, settle)
  }

  /** Notes an answer in time, also an error. Overdue answers no longer count: they may never come. */
  clear(): void {
    this.#answers.clear()
  }
}
