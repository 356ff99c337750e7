import { randomUUID } from 'node:crypto'
import { isPromise, type MaybeAsync, whenSettled } from '../../maybe-async.js'
import { inTime } from '../../time/in-time.js'
import { Outage } from '../../time/outage.js'
import type { Schedule } from '../../time/schedule.js'
import { type Answer, writeAnswer } from './answer.js'
import type { IdempotencyClaim, IdempotencyRecord, IdempotencyStore } from './stores/store.js'

/** Where the ledger reports. */
export interface LedgerLog {
  error(details: object, message: string): void
  warn(details: object, message: string): void
  info(message: string): void
}

/** Options of a {@link Ledger}; times in milliseconds. */
export interface LedgerOptions {
  readonly store: IdempotencyStore
  readonly lease: number
  readonly storeTimeout: number
  readonly schedule: Schedule
  readonly log: LedgerLog
}

/** The keys of an app: claims them in the store, renews the claims while requests run, and removes what is over. */
export class Ledger {
  readonly #options: LedgerOptions
  readonly #outage = new Outage()
  // A UUID for each claim would be stored as a tree of strings, which takes more memory than the answer of most requests.
  readonly #name = randomUUID()
  #claims = 0
  #stopSweeps = () => {}
  #isClosed = false

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  get lease(): number {
    return this.#options.lease
  }

  get store(): IdempotencyStore {
    return this.#options.store
  }

  get schedule(): Schedule {
    return this.#options.schedule
  }

  get log(): LedgerLog {
    return this.#options.log
  }

  /** Claims a key for a request. */
  begin(key: string, fingerprint: string, keepFor: number): MaybeAsync<Attempt | IdempotencyRecord> {
    const { store, lease } = this.#options
    this.#claims += 1
    const claim: IdempotencyClaim = { key, token: `${this.#name}.${this.#claims}`, fingerprint }
    let claiming: MaybeAsync<IdempotencyRecord | null> | undefined
    return whenSettled(
      () => this.ask(() => (claiming = store.claim(claim, lease)), 'a claim'),
      (record) => record ?? new Attempt(this, claim, keepFor),
      (error) => {
        // The claim may have been late, or may still come: otherwise it would stay until its lease ends.
        const releaseLate = async () => {
          if ((await claiming) === null) await store.release(claim)
        }
        releaseLate().catch(() => {})
        throw error
      },
    )
  }

  /** Keeps the bytes of an answer that a handler has kept before. Never rejects. */
  finish(claim: IdempotencyClaim, answer: Answer, keepFor: number): MaybeAsync<void> {
    const text = writeAnswer(answer)
    return whenSettled(
      () => this.ask(() => this.store.complete(claim, text, keepFor), 'an answer'),
      done,
      done,
    )
  }

  /** Removes what is over: now, and then each minute. */
  sweep(): void {
    this.#sweepOnce()
      .catch(() => {})
      .finally(() => {
        if (!this.#isClosed) this.#stopSweeps = this.schedule(() => this.sweep(), betweenSweeps)
      })
  }

  close(): void {
    this.#isClosed = true
    this.#stopSweeps()
  }

  /** Asks the store, for at most so long, and logs the begin and the end of an outage. */
  ask<Value>(question: () => MaybeAsync<Value>, what: string): MaybeAsync<Value> {
    const { store, storeTimeout, schedule, log } = this.#options
    return whenSettled(
      () => {
        const reply = question()
        // A store in the process has no connection that could hang.
        if (!store.isShared || !isPromise(reply)) return reply
        return inTime(reply, storeTimeout, `the store's reply to ${what}`, schedule)
      },
      (value) => {
        if (this.#outage.ends()) log.info('idempotency: the store replies again')
        return value
      },
      (err) => {
        if (this.#outage.begins()) log.error({ err }, 'idempotency: the store fails')
        throw err
      },
    )
  }

  async #sweepOnce(): Promise<void> {
    for (let batch = 0; batch < maxBatches && !this.#isClosed; batch += 1) {
      const expired = await this.ask(() => this.store.expire(batchSize), 'a sweep')
      if (expired < batchSize) return
    }
  }
}

/** A request that runs under its key. Its claim is renewed until it ends. */
export class Attempt {
  readonly claim: IdempotencyClaim
  readonly #ledger: Ledger
  readonly #keepFor: number
  #stopTimer = () => {}
  #isOpen = true
  #isDoubtful = false

  constructor(ledger: Ledger, claim: IdempotencyClaim, keepFor: number) {
    this.claim = claim
    this.#ledger = ledger
    this.#keepFor = keepFor
    // A handler that never ends does not keep its key for ever.
    this.#renewLater(Math.ceil(maxRun / this.#interval))
  }

  /** Whether the request has neither an answer nor been given up. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Keeps the answer. Never rejects: the work is done, and a store that fails is asked again until the lease ends. */
  complete(answer: Answer): MaybeAsync<void> {
    this.#end()
    const text = writeAnswer(answer)
    return this.#tryToComplete(text, retriesOfCompletion)
  }

  /** Makes the key free again. Never rejects: if the store fails, the lease ends by itself. */
  release(): MaybeAsync<void> {
    this.#end()
    const { store } = this.#ledger
    return whenSettled(() => this.#ledger.ask(() => store.release(this.claim), 'a release'), done, done)
  }

  /** Keeps an answer in the transaction of a connection. */
  async keepWithin(connection: object, answer: Answer, maxBytes: number): Promise<boolean> {
    const within = this.#ledger.store.within?.(connection)
    if (within === undefined) {
      throw new TypeError(
        'request.idempotency.keep(): the store takes part in no transactions; use postgresIdempotency()',
      )
    }
    const text = writeAnswer(answer)
    const length = Buffer.byteLength(text)
    if (length > maxBytes) {
      throw new RangeError(
        `request.idempotency.keep(): the answer has ${length} bytes; maxBytes is ${maxBytes}`,
      )
    }
    return within.complete(this.claim, text, this.#keepFor)
  }

  get #interval(): number {
    return this.#ledger.lease / 3
  }

  #end(): void {
    this.#isOpen = false
    this.#stopTimer()
  }

  #renewLater(left: number): void {
    if (left > 0) this.#stopTimer = this.#ledger.schedule(() => void this.#renew(left), this.#interval)
  }

  async #renew(left: number): Promise<void> {
    const { store, lease, log } = this.#ledger
    const isOurs = await whenSettled(
      () => this.#ledger.ask(() => store.renew(this.claim, lease), 'a renewal'),
      (isRenewed) => isRenewed,
      // Unknown if the store fails: it is asked again.
      () => null,
    )
    if (!this.#isOpen) return
    // Also if the row is in the transaction of the handler, or has the answer.
    if (isOurs === false && !this.#isDoubtful) {
      this.#isDoubtful = true
      log.warn({ token: this.claim.token }, 'idempotency: a claim could not be renewed')
    }
    this.#renewLater(left - 1)
  }

  #tryToComplete(answer: string, retries: number): MaybeAsync<void> {
    const { store, log } = this.#ledger
    return whenSettled(
      () => this.#ledger.ask(() => store.complete(this.claim, answer, this.#keepFor), 'an answer'),
      (isKept) => {
        if (isKept) return
        log.error({ token: this.claim.token }, 'idempotency: a request ran longer than its lease, and twice')
      },
      () => this.#completeLater(answer, retries),
    )
  }

  #completeLater(answer: string, left: number): void {
    if (left === 0) {
      this.#ledger.log.error({ token: this.claim.token }, 'idempotency: an answer could not be kept')
      return
    }
    this.#ledger.schedule(
      () => void this.#tryToComplete(answer, left - 1),
      this.#ledger.lease / retriesOfCompletion,
    )
  }
}

const betweenSweeps = 60_000
const [batchSize, maxBatches] = [500, 20]
const retriesOfCompletion = 10
/** Milliseconds for which a claim is renewed. */
const maxRun = 86_400_000

function done(): void {}
