import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatReport } from '../index.js'
import { type CheckArguments, readArguments, usage } from './arguments.js'
import type { Outcome, ProcessRequest } from './check-process.js'

/** Runs the command and returns its exit code: 0, 1 for findings that are errors, 2 if there is no report. */
export async function check(args: readonly string[]): Promise<0 | 1 | 2> {
  const read = readArguments(args)
  if (read === 'help') {
    console.log(usage)
    return 0
  }
  if ('error' in read) return failed(`${read.error}\n\n${usage}`)
  const file = resolve(read.file)
  if (!existsSync(file)) return failed(`there is no file ${read.file}`)
  const { mode, timeout } = read
  const first = await boot({ file, mode, preset: true }, timeout)
  // A fresh process: the first one has loaded the modules of the app.
  const isRegistered = first.kind === 'registered'
  const outcome = isRegistered ? await boot({ file, mode, preset: false }, timeout) : first
  if (outcome.kind === 'failed') return failed(`${read.file}: ${outcome.message}`)
  if (outcome.kind === 'registered') return failed(`${read.file}: conventions are registered twice`)
  console.log(textOf(outcome, read))
  const { report, document } = outcome
  return document.isBroken || report.findings.some(({ effect }) => effect === 'boot stopped') ? 1 : 0
}

function textOf({ report, document }: Outcome & { kind: 'booted' }, { format }: CheckArguments): string {
  if (format === 'json') return JSON.stringify({ ...report, document }, null, 2)
  const text = formatReport(report, format).replace(
    /^Under enforce, .*$/m,
    '$& (by the boot: check sends no requests)',
  )
  const state = `OpenAPI document: ${document.text}`
  if (format !== 'github') return `${text}\n\n${state}`
  const annotation = `::${document.isBroken ? 'error' : 'notice'} title=OpenAPI::${state.replaceAll('%', '%25')}`
  return text === '' ? annotation : `${text}\n${annotation}`
}

function failed(message: string): 2 {
  console.error(message)
  return 2
}

// A process of its own: an app that hangs or ends the process does not stop the check.
function boot(request: ProcessRequest, timeout: number): Promise<Outcome> {
  return new Promise((done) => {
    const child = fork(fileURLToPath(new URL('./check-process.js', import.meta.url)), {
      stdio: ['inherit', 2, 2, 'ipc'],
    })
    let outcome: Outcome | null = null
    const timer = setTimeout(() => {
      outcome ??= { kind: 'failed', message: `the app is not ready after ${timeout} s` }
      child.kill('SIGKILL')
    }, timeout * 1000)
    child.once('message', (message) => {
      outcome = message as Outcome
    })
    child.once('error', ({ message }) => done({ kind: 'failed', message }))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      const end = signal === null ? `with code ${code}` : `by ${signal}`
      done(outcome ?? { kind: 'failed', message: `the process ended ${end} before the app was ready` })
    })
    child.send(request)
  })
}
