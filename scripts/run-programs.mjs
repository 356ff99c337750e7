// Runs test programs, each in a process of its own, and logs their TAP: node scripts/run-programs.mjs [--tap=FILE] PROGRAM …
// Each core takes programs from the front, where those are that compute most, and two lanes more take those from the back, which
// wait. (tap's own runner loads a compiler and hooks into every process, which takes a second of each.)
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { openLog } from './tap-log.mjs'

const timeout = 1_200
const args = process.argv.slice(2)
const programs = args.filter((arg) => !arg.startsWith('--tap='))
const log = openLog(args.find((arg) => arg.startsWith('--tap='))?.slice('--tap='.length))
const totals = { total: 0, pass: 0, fail: 0, todo: 0, skip: 0 }

const waiting = [...programs.entries()]
const ofCores = Array.from({ length: availableParallelism() }, () => runAll(() => waiting.shift()))
const ofWaiting = Array.from({ length: 2 }, () => runAll(() => waiting.pop()))
await Promise.all([...ofCores, ...ofWaiting])

const counts = Object.entries(totals).filter(([, count]) => count > 0)
log.write(`1..${programs.length}`)
log.write(`# { ${counts.map(([key, count]) => `${key}: ${count}`).join(', ')} }`)
log.end()
if (totals.fail > 0) process.exitCode = 1

async function runAll(take) {
  for (let next = take(); next !== undefined; next = take()) {
    const [index, program] = next
    const start = performance.now()
    const { end, output } = await run(program)
    const time = Math.round(performance.now() - start)
    const lines = output.trimEnd().split('\n')
    const ownTotals = lines.find((line) => line.startsWith('# { total: ')) ?? ''
    const counted = Object.fromEntries(
      [...ownTotals.matchAll(/(\w+): (\d+)/g)].map(([, key, count]) => [key, Number(count)]),
    )
    // Without totals, it has ended before all of its tests. Its tests may change the exit code.
    const isWhole = ownTotals !== '' && (end === 0 || counted.fail > 0)
    if (!isWhole) lines.push(`not ok 0 - the process ended with ${end}`)
    for (const key of Object.keys(totals)) totals[key] += counted[key] ?? 0
    if (!isWhole) totals.fail += 1
    const passed = isWhole && !(counted.fail > 0)
    log.write(`# Subtest: ${program}`)
    for (const line of lines) log.write(`    ${line}`)
    log.write(`${passed ? 'ok' : 'not ok'} ${index + 1} - ${program} # time=${time}ms`)
  }
}

/** Runs a program to its end. Returns its exit code or the signal that ended it, and what it has written. */
function run(program) {
  const child = spawn(process.execPath, ['--enable-source-maps', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TAP_TIMEOUT: String(timeout) },
    timeout: (timeout + 60) * 1000,
    killSignal: 'SIGKILL',
  })
  const chunks = []
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ end: code ?? signal, output: Buffer.concat(chunks).toString() })
    })
  })
}
