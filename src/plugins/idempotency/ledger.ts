import { randomUUID } from 'node:crypto'
import { checkStore } from '../../stores/check-store.js'
import {
  inTime,
  isPromise,
  type MaybeAsync,
  outageLog,
  type Schedule,
  whenSettled,
} from '../../time/async.js'
import { type Answer, writeAnswer } from './answer.js'
import type { IdempotencyClaim, IdempotencyRecord, IdempotencyStore } from './stores/store.js'

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
  const outage = outageLog()
  const name = randomUUID()
  const running = new Set<Attempt>()
  let claims = 0
  let isTicking = false
  let stopSweeps = () => {}

  /** Logs the begin and the end of an outage. Replies at once if the store does. */
  function ask<Value>(what: string, question: () => MaybeAsync<Value>): MaybeAsync<Value> {
    return whenSettled<Value, Value>(
      () => {
        const reply = question()
        // A store in the process has no connection that could hang.
        return store.isShared && isPromise(reply)
          ? inTime(reply, storeTimeout, `the store's reply to ${what}`, schedule)
          : reply
      },
      (value) => {
        if (outage.ends()) log.info('idempotency: the store replies again')
        return value
      },
      (err) => {
        if (outage.begins()) log.error({ err }, 'idempotency: the store fails')
        throw err
      },
    )
  }

  /** The same, without the reply. A failure has been logged. */
  function tell(what: string, question: () => unknown): MaybeAsync<undefined> {
    return whenSettled(() => ask(what, question), ignore, ignore)
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
        else if (attempt.answer !== null) keep(attempt, attempt.answer)
        // Not renewed while the transaction of the handler has the row, either.
        else tell('a renewal', () => store.renew(attempt.claim, lease))
      }
      tickLater()
    }, lease / 3)
  }

  function keep(attempt: Attempt, answer: string): MaybeAsync<undefined> {
    const { claim, keepFor } = attempt
    return whenSettled<boolean, undefined>(
      () => ask('an answer', () => store.complete(claim, answer, keepFor)),
      (isKept) => {
        running.delete(attempt)
        if (!isKept)
          log.error({ token: claim.token }, 'idempotency: a request ran longer than its lease, and twice')
        return undefined
      },
      ignore,
    )
  }

  function sweep(): void {
    tell('a sweep', () => store.expire())
    stopSweeps = schedule(sweep, betweenSweeps)
  }

  return {
    /** Claims a key. Returns the attempt; or the record of the request that has the key. */
    begin(
      { key, caller, fingerprint }: Omit<IdempotencyClaim, 'token'>,
      keepFor: number,
    ): MaybeAsync<Attempt | IdempotencyRecord> {
      claims += 1
      // Not spread: a member beside a spread takes some 290 bytes.
      const claim = { key, caller, fingerprint, token: `${name}.${claims}` }
      let reply: MaybeAsync<IdempotencyRecord | null> | undefined
      return whenSettled<IdempotencyRecord | null, Attempt | IdempotencyRecord>(
        () => ask('a claim', () => (reply = store.claim(claim, lease))),
        (found) => {
          if (found !== null) return found
          const attempt = { claim, keepFor, isOpen: true, answer: null, ticks: 0 }
          running.add(attempt)
          if (!isTicking) tickLater()
          return attempt
        },
        (error) => {
          // The claim may still come: it would stay until its lease ends.
          Promise.resolve(reply).then((found) => (found === null ? store.release(claim) : undefined), ignore)
          throw error
        },
      )
    },

    /** Keeps the answer. Never fails: the work is done, and a store that fails is asked again. */
    complete(attempt: Attempt, answer: Answer): MaybeAsync<undefined> {
      attempt.isOpen = false
      attempt.answer = writeAnswer(answer)
      return keep(attempt, attempt.answer)
    },

    /** Makes the key free again. Never fails: if the store does, the lease ends by itself. */
    release(attempt: Attempt): MaybeAsync<undefined> {
      attempt.isOpen = false
      running.delete(attempt)
      return tell('a release', () => store.release(attempt.claim))
    },

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

    async start(): Promise<void> {
      await checkStore('idempotency', () => ask('a check', () => store.check()))
      sweep()
    },

    close: () => stopSweeps(),
  }
}

/** Milliseconds. */
const [betweenSweeps, maxRun] = [60_000, 86_400_000]

function ignore(): undefined {}
