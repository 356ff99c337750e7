import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { BullmqEngineOptions } from '../../../../src/plugins/operations/engines/bullmq.js'
import { programArguments } from '../../../support/program.js'

/** A process that takes operations out of a queue, and ends none before it closes. */
export interface WorkerProcess {
  /** Resolves with the id of the next operation that it began to run. */
  next(): Promise<string>
  /** Closes its engine. */
  close(): Promise<void>
  /** Resolves with its exit code when it has ended by itself. */
  readonly exit: Promise<number | null>
  /** Resolves when it is gone. */
  kill(): Promise<void>
}

const program = programArguments(new URL('worker-process.ts', import.meta.url))

/** Starts a process, and waits until it is ready. */
export async function startWorkerProcess(
  t: Test,
  options: BullmqEngineOptions,
  lease = 30_000,
): Promise<WorkerProcess> {
  const settings = [JSON.stringify(options), String(lease)]
  const child = spawn(process.execPath, [...program, ...settings], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  t.equal(await next(), 'ready')
  return {
    next,
    exit: gone.then(() => child.exitCode),
    async close() {
      child.stdin.write('close\n')
      t.equal(await next(), 'closed')
    },
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}
