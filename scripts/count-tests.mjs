// Prints one line, `tests: N passed, M failed`, over the TAP files given, and exits with 1 unless all passed.
// What is counted is assertions, as tap itself adds them up in the last lines of a run.
// A run that broke off before it could add up counts as one failure; no run at all is no success.
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
