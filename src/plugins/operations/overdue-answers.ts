/** Options of {@link OverdueAnswers}. */
export interface OverdueAnswersOptions {
  /** Maximum number of overdue responses. */
  readonly max: number
  /** Milliseconds after which the next request is sent nevertheless. */
  readonly retryAfter: number
  readonly now: () => number
}

/**
 * Limits the requests to a server that does not respond. Its client buffers requests without a limit, so if many responses are
 * overdue, a request is sent only once in a while, until a response comes.
 */
export class OverdueAnswers {
  readonly #options: OverdueAnswersOptions
  readonly #answers = new Set<Promise<unknown>>()
  #retryAt = 0

  constructor(options: OverdueAnswersOptions) {
    this.#options = options
  }

  /** Whether a request may be sent now. */
  mayAsk(): boolean {
    const { max, retryAfter, now } = this.#options
    if (this.#answers.size < max) return true
    const time = now()
    if (time < this.#retryAt) return false
    this.#retryAt = time + retryAfter
    return true
  }

  /** Counts a response that did not come in time. */
  add(answer: Promise<unknown>): void {
    const { max, retryAfter, now } = this.#options
    if (this.#answers.size >= max) return
    this.#answers.add(answer)
    this.#retryAt = now() + retryAfter
    const settle = () => void this.#answers.delete(answer)
    answer.then(settle, settle)
  }

  /** Resets the count after a response in time, also after an error. */
  clear(): void {
    this.#answers.clear()
  }
}
