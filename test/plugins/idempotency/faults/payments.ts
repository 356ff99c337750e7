import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { programArguments } from '../../../support/program.js'

/** The set-up of a server. */
export interface ServerSetUp {
  /** URL of the database with the payments. */
  readonly postgres: string
  /** URL of the server with the keys; `null` if they are in PostgreSQL. */
  readonly redis: string | null
  /** 0 for a free one. */
  readonly port: number
  /** Whether a payment and its answer are one transaction. */
  readonly isTransactional: boolean
}

/** A server that listens. */
export interface Server {
  readonly process: ChildProcess
  readonly origin: string
}

const program = programArguments(new URL('server.ts', import.meta.url))

/** Starts a server, and waits until it listens; it ends with the test. */
export async function startServer(t: Test, setUp: ServerSetUp): Promise<Server> {
  const child = spawn(process.execPath, [...program, JSON.stringify(setUp)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => kill(child))
  const origin = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => resolve(line.replace(/^at /, '')))
    child.once('exit', () => reject(new Error('the server ended before it listened')))
  })
  return { process: child, origin }
}

/** Ends a process at once. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** The answer to a payment. */
export interface Paid {
  readonly body: string
  readonly isReplayed: boolean
  /** Requests until it was answered. */
  readonly attempts: number
}

/** Sends a payment until it is answered, as a client does that was told to: after errors of the connection, 409 and 5xx. */
export async function pay(origin: string, key: string): Promise<Paid> {
  for (let attempts = 1; attempts < 2_000; attempts += 1) {
    try {
      const response = await fetch(`${origin}/v1/payments`, {
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
