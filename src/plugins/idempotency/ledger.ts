import { randomUUID } from 'node:crypto'
import { isPromise } from '../../maybe-async.js'
import { inTime, Outage, type Schedule } from '../../time/schedule.js'
import { type Answer, writeAnswer } from './answer.js'
import type { IdempotencyClaim, IdempotencyRecord, IdempotencyStore } from './stores/store.js'

/** Times in milliseconds. */
interface LedgerOptions {
  readonly store: IdempotencyStore
  readonly lease: number
  readonly storeTimeout: number
  readonly schedule: Schedule
  readonly log: { error(details: object, message: string): void; info(message: string): void }
}

/** A request that runs under its key. */
export class Attempt {
  /** Whether it has neither an answer nor been given up. */
  isOpen = true
  /** The answer, until the store has taken it. */
  answer: string | null = null
  ticks = 0

  /** @param keepFor milliseconds */
  constructor(
    readonly claim: IdempotencyClaim,
    readonly keepFor: number,
  ) {}
}

/** The keys of an app: claims them in the store, renews the claims while requests run, and removes what is over. */
export class Ledger {
  readonly #options: LedgerOptions
  readonly #outage = new Outage()
  readonly #name = randomUUID()
  readonly #running = new Set<Attempt>()
  #claims = 0
  #isTicking = false
  #stopSweeps = () => {}

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  /** Claims a key. Returns the attempt; or the record of the request that has the key. */
  async begin(
    claimed: Omit<IdempotencyClaim, 'token'>,
    keepFor: number,
  ): Promise<Attempt | IdempotencyRecord> {
    const { store, lease } = this.#options
    this.#claims += 1
    const claim = { ...claimed, token: `${this.#name}.${this.#claims}` }
    let reply: IdempotencyRecord | null | undefined | Promise<IdempotencyRecord | null>
    try {
      const found = await this.#ask('a claim', () => (reply = store.claim(claim, lease)))
      if (found !== null) return found
    } catch (error) {
      // The claim may still come: it would stay until its lease ends.
      Promise.resolve(reply).then((found) => (found === null ? store.release(claim) : undefined), ignore)
      throw error
    }
    const attempt = new Attempt(claim, keepFor)
    this.#running.add(attempt)
    if (!this.#isTicking) this.#tickLater()
    return attempt
  }

  /** Keeps the answer. Never rejects: the work is done, and a store that fails is asked again. */
  async complete(attempt: Attempt, answer: Answer): Promise<void> {
    attempt.isOpen = false
    attempt.answer = writeAnswer(answer)
    await this.#keep(attempt, attempt.answer)
  }

  /** Makes the key free again. Never rejects: if the store fails, the lease ends by itself. */
  async release(attempt: Attempt): Promise<void> {
    attempt.isOpen = false
    this.#running.delete(attempt)
    await this.#ask('a release', () => this.#options.store.release(attempt.claim)).catch(ignore)
  }

  /** Keeps an answer in the transaction of a connection. */
  async keepWithin(connection: object, attempt: Attempt, answer: Answer, maxBytes: number): Promise<boolean> {
    const { store } = this.#options
    if (store.isTransactional !== true) throw new TypeError('the store takes part in no transactions')
    const text = writeAnswer(answer)
    const length = Buffer.byteLength(text)
    if (length > maxBytes) throw new RangeError(`the answer has ${length} bytes; maxBytes is ${maxBytes}`)
    return store.complete(attempt.claim, text, attempt.keepFor, connection)
  }

  /** Checks the store, and removes what is over: now, and then each minute. */
  async start(): Promise<void> {
    await this.#ask('a check', () => this.#options.store.check())
    this.#sweep()
  }

  close(): void {
    this.#stopSweeps()
  }

  #sweep(): void {
    const { store, schedule } = this.#options
    this.#ask('a sweep', () => store.expire()).catch(ignore)
    this.#stopSweeps = schedule(() => this.#sweep(), betweenSweeps)
  }

  /** Renews the claims of the requests that run, and keeps the answers that the store has not taken. */
  #tickLater(): void {
    const { store, lease, schedule } = this.#options
    this.#isTicking = this.#running.size > 0
    if (!this.#isTicking) return
    schedule(() => {
      for (const attempt of this.#running) {
        attempt.ticks += 1
        // A handler that never ends does not keep its key for ever.
        if (attempt.ticks * (lease / 3) > maxRun) this.#running.delete(attempt)
        else if (attempt.answer !== null) void this.#keep(attempt, attempt.answer)
        // Not renewed while the transaction of the handler has the row, either.
        else this.#ask('a renewal', () => store.renew(attempt.claim, lease)).catch(ignore)
      }
      this.#tickLater()
    }, lease / 3)
  }

  async #keep(attempt: Attempt, answer: string): Promise<void> {
    const { store, log } = this.#options
    const { claim, keepFor } = attempt
    const isKept = await this.#ask('an answer', () => store.complete(claim, answer, keepFor)).catch(
      () => null,
    )
    if (isKept === null) return
    this.#running.delete(attempt)
    if (!isKept) {
      log.error({ token: claim.token }, 'idempotency: a request ran longer than its lease, and twice')
    }
  }

  /** Asks the store, for at most so long, and logs the begin and the end of an outage. */
  async #ask<Value>(what: string, question: () => Value | Promise<Value>): Promise<Value> {
    const { store, storeTimeout, schedule, log } = this.#options
    try {
      const reply = question()
      // A store in the process has no connection that could hang.
      const isTimed = store.isShared && isPromise(reply)
      const value = await (isTimed
        ? inTime(reply, storeTimeout, `the store's reply to ${what}`, schedule)
        : reply)
      if (this.#outage.ends()) log.info('idempotency: the store replies again')
      return value
    } catch (err) {
      if (this.#outage.begins()) log.error({ err }, 'idempotency: the store fails')
      throw err
    }
  }
}

/** Milliseconds. */
const [betweenSweeps, maxRun] = [60_000, 86_400_000]

function ignore(): void {}
