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
export interface Attempt {
  readonly claim: IdempotencyClaim
  /** Milliseconds. */
  readonly keepFor: number
  /** Whether it has neither an answer nor been given up. */
  isOpen: boolean
  /** The answer, until the store has taken it. */
  answer: string | null
  ticks: number
}

export type Ledger = ReturnType<typeof ledgerOf>

/** The keys of an app: claims them in the store, renews the claims while requests run, and removes what is over. */
export function ledgerOf({ store, lease, storeTimeout, schedule, log }: LedgerOptions) {
  const outage = new Outage()
  const name = randomUUID()
  const running = new Set<Attempt>()
  let claims = 0
  let isTicking = false
  let stopSweeps = () => {}

  /** Asks the store, for at most so long, and logs the begin and the end of an outage. */
  async function ask<Value>(what: string, question: () => Value | Promise<Value>): Promise<Value> {
    try {
      const reply = question()
      // A store in the process has no connection that could hang.
      const isTimed = store.isShared && isPromise(reply)
      const value = await (isTimed
        ? inTime(reply, storeTimeout, `the store's reply to ${what}`, schedule)
        : reply)
      if (outage.ends()) log.info('idempotency: the store replies again')
      return value
    } catch (err) {
      if (outage.begins()) log.error({ err }, 'idempotency: the store fails')
      throw err
    }
  }

  /** Renews the claims of the requests that run, and keeps the answers that the store has not taken. */
  function tickLater(): void {
    isTicking = running.size > 0
    if (!isTicking) return
    schedule(() => {
      for (const attempt of running) {
        attempt.ticks += 1
        // A handler that never ends does not keep its key for ever.
        if (attempt.ticks * (lease / 3) > maxRun) running.delete(attempt)
        else if (attempt.answer !== null) void keep(attempt, attempt.answer)
        // Not renewed while the transaction of the handler has the row, either.
        else ask('a renewal', () => store.renew(attempt.claim, lease)).catch(ignore)
      }
      tickLater()
    }, lease / 3)
  }

  async function keep(attempt: Attempt, answer: string): Promise<void> {
    const { claim, keepFor } = attempt
    const isKept = await ask('an answer', () => store.complete(claim, answer, keepFor)).catch(() => null)
    if (isKept === null) return
    running.delete(attempt)
    if (!isKept)
      log.error({ token: claim.token }, 'idempotency: a request ran longer than its lease, and twice')
  }

  function sweep(): void {
    ask('a sweep', () => store.expire()).catch(ignore)
    stopSweeps = schedule(sweep, betweenSweeps)
  }

  return {
    /** Claims a key. Returns the attempt; or the record of the request that has the key. */
    async begin(
      claimed: Omit<IdempotencyClaim, 'token'>,
      keepFor: number,
    ): Promise<Attempt | IdempotencyRecord> {
      claims += 1
      const claim = { ...claimed, token: `${name}.${claims}` }
      let reply: IdempotencyRecord | null | undefined | Promise<IdempotencyRecord | null>
      try {
        const found = await ask('a claim', () => (reply = store.claim(claim, lease)))
        if (found !== null) return found
      } catch (error) {
        // The claim may still come: it would stay until its lease ends.
        Promise.resolve(reply).then((found) => (found === null ? store.release(claim) : undefined), ignore)
        throw error
      }
      const attempt = { claim, keepFor, isOpen: true, answer: null, ticks: 0 }
      running.add(attempt)
      if (!isTicking) tickLater()
      return attempt
    },

    /** Keeps the answer. Never rejects: the work is done, and a store that fails is asked again. */
    async complete(attempt: Attempt, answer: Answer): Promise<void> {
      attempt.isOpen = false
      attempt.answer = writeAnswer(answer)
      await keep(attempt, attempt.answer)
    },

    /** Makes the key free again. Never rejects: if the store fails, the lease ends by itself. */
    async release(attempt: Attempt): Promise<void> {
      attempt.isOpen = false
      running.delete(attempt)
      await ask('a release', () => store.release(attempt.claim)).catch(ignore)
    },

    /** Keeps an answer in the transaction of a connection. */
    async keepWithin(
      connection: object,
      { claim, keepFor }: Attempt,
      answer: Answer,
      maxBytes: number,
    ): Promise<boolean> {
      if (store.isTransactional !== true) throw new TypeError('the store takes part in no transactions')
      const text = writeAnswer(answer)
      const length = Buffer.byteLength(text)
      if (length > maxBytes) throw new RangeError(`the answer has ${length} bytes; maxBytes is ${maxBytes}`)
      return store.complete(claim, text, keepFor, connection)
    },

    /** Checks the store, and removes what is over: now, and then each minute. */
    async start(): Promise<void> {
      await ask('a check', () => store.check())
      sweep()
    },

    close: () => stopSweeps(),
  }
}

/** Milliseconds. */
const [betweenSweeps, maxRun] = [60_000, 86_400_000]

function ignore(): void {}
