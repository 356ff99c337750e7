import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Question, Replies } from './messages.js'

/** A process that runs variants of one scenario. */
export interface Child {
  readonly ask: <Kind extends Question['ask']>(
    question: Extract<Question, { ask: Kind }>,
  ) => Promise<Replies[Kind]>
  /** Resolves when the process is gone. */
  readonly stop: () => Promise<void>
}

const entry = fileURLToPath(new URL('./server.ts', import.meta.url))
// Far beyond what any question takes: a run ends with an error rather than never.
const patienceMs = 120_000
const running = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => process.exit(code))
}

/** Starts a process for a scenario, and for one of its variants if it is to run only that. */
export function startChild(scenario: string, variant = ''): Child {
  const child = fork(entry, [scenario, variant])
  const name = variant === '' ? `'${scenario}'` : `'${variant}' of '${scenario}'`
  running.add(child)
  child.once('exit', () => running.delete(child))
  return {
    ask: (question) => ask(child, name, question),
    stop: () => stop(child),
  }
}

function ask<Kind extends Question['ask']>(
  child: ChildProcess,
  name: string,
  question: Extract<Question, { ask: Kind }>,
): Promise<Replies[Kind]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        settle(() => reject(new Error(`${name} did not answer '${question.ask}' within ${patienceMs} ms`))),
      patienceMs,
    )
    function onMessage(reply: unknown): void {
      settle(() => resolve(reply as Replies[Kind]))
    }
    function onGone(): void {
      settle(() => reject(new Error(`the process of ${name} ended before it answered '${question.ask}'`)))
    }
    function settle(how: () => void): void {
      clearTimeout(timer)
      child.off('message', onMessage).off('exit', onGone)
      how()
    }
    if (!child.connected) return settle(onGone)
    child.once('message', onMessage).once('exit', onGone)
    child.send(question)
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const gone = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  // The child leaves by itself when its channel closes, so that a profiler gets to write its file.
  if (child.connected) child.disconnect()
  await gone
  clearTimeout(timer)
}
