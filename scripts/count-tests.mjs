// Prints one line, `tests: N passed, M failed`, over the TAP files given, and exits with 1 unless all passed.
// It counts assertions, by the totals that tap prints in the last lines of a run.
// A run without totals was interrupted, and counts as one failure. Without any run the exit code is 1.
import { readFileSync } from 'node:fs'

const runs = process.argv.slice(2).map(totals)
const passed = runs.reduce((sum, run) => sum + run.pass, 0)
const failed = runs.reduce((sum, run) => sum + run.fail, 0)
console.log(`tests: ${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

function totals(file) {
  const line = /^# \{ total: .*\}$/m.exec(readFileSync(file, 'utf8'))?.[0]
  if (line === undefined) return { pass: 0, fail: 1 }
  return { pass: numberAfter('pass', line), fail: numberAfter('fail', line) }
}

function numberAfter(key, line) {
  return Number(new RegExp(`\\b${key}: (\\d+)`).exec(line)?.[1] ?? 0)
}
