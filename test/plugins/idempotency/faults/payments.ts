import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Program, startProgram } from '../../../support/program.js'

/** The set-up of a server. */
export interface ServerSetUp {
  /** URL of the database with the payments. */
  readonly postgres: string
  /** URL of the server with the keys; `null` if they are in PostgreSQL. */
  readonly redis: string | null
  /** Whether a payment and its answer are one transaction. */
  readonly isTransactional: boolean
  /** Of a process that a busy machine stops for longer, requests run again. */
  readonly lease: string
}

/** Starts a server, and waits until it listens; it ends with the test. */
export const startServer = (t: Test, setUp: ServerSetUp): Promise<Program> =>
  startProgram(t, new URL('server.ts', import.meta.url), setUp)

/** The answer to a payment. */
export interface Paid {
  readonly body: string
  readonly isReplayed: boolean
  /** Requests until it was answered. */
  readonly attempts: number
}

/** Sends a payment until it is answered, as a client does that was told to: after errors of the connection, 409 and 5xx. */
export async function pay(server: () => Pick<Program, 'at'>, key: string): Promise<Paid> {
  for (let attempts = 1; attempts < 2_000; attempts += 1) {
    try {
      const response = await fetch(`${server().at}/v1/payments`, {
        method: 'POST',
        headers: { 'idempotency-key': `"${key}"` },
        signal: AbortSignal.timeout(20_000),
      })
      const body = await response.text()
      const isReplayed = response.headers.has('idempotent-replayed')
      if (response.status === 201) return { body, isReplayed, attempts }
      if (response.status !== 409 && response.status < 500) throw new TypeError(`${response.status} ${body}`)
    } catch (error) {
      if (error instanceof TypeError && /^\d/.test(error.message)) throw error
    }
    await pause(50)
  }
  throw new Error(`the payment ${key} was never answered`)
}
