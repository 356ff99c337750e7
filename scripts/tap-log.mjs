// Logs TAP: one line per test program, the diagnosis of each failure, the reason of each skipped test.
import { createWriteStream, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

const indentation = 4
// The name of a failure may be a long error message, which is in its diagnosis too.
const longestName = 200
const point = /^( *)(not )?ok \d+(?: - )?(.*)$/
const subtest = /^( *)# Subtest: (.*)$/
const totals = /^# \{ total: /

/** Names of the subtests that are open, outermost first. */
let names = []
/** Depths of the open subtests in which a failure has been reported already. */
const reported = new Set()
/** Set while the lines of a diagnosis are printed. */
let diagnosisOf

/** Opens the log; the TAP is kept in a file, if there is one. */
export function openLog(keep) {
  const copy = keep === undefined ? undefined : openCopy(keep)
  return {
    write(line) {
      copy?.write(`${line}\n`)
      logLine(line)
    },
    end: () => copy?.end(),
  }
}

function logLine(line) {
  if (diagnosisOf !== undefined) return logDiagnosis(line)
  const opened = subtest.exec(line)
  if (opened) return openSubtest(opened[1].length / indentation, opened[2])
  const result = point.exec(line)
  if (result) return logResult(result[1].length / indentation, result[2] === undefined, result[3])
  if (totals.test(line)) console.log(line)
}

function openSubtest(depth, name) {
  names = [...names.slice(0, depth), name]
  reported.delete(depth)
}

function logResult(depth, passed, text) {
  if (depth === 0) console.log(`${passed ? 'ok    ' : 'not ok'} ${text}`)
  if (/ # skip\b/i.test(text)) console.log(`       skipped: ${nameOf(depth, text)}`)
  if (passed || / # todo\b/i.test(text)) return
  // A subtest that fails because of what is in it has been reported already.
  const isOld = reported.has(depth)
  reported.delete(depth)
  for (let outer = 0; outer < depth; outer++) reported.add(outer)
  if (isOld) return
  console.log(`       failed: ${nameOf(depth, text)}`)
  diagnosisOf = depth * indentation
}

function logDiagnosis(line) {
  const text = line.slice(diagnosisOf + 2)
  if (text === '---' || line.trim() === '') return
  if (text === '...') {
    diagnosisOf = undefined
    return
  }
  const isDiagnosis = line.startsWith(' '.repeat(diagnosisOf + 2))
  if (!isDiagnosis) {
    diagnosisOf = undefined
    return logLine(line)
  }
  console.log(`         ${text}`)
}

function nameOf(depth, text) {
  const name = [...names.slice(0, depth), text].join(' > ')
  return name.length > longestName ? `${name.slice(0, longestName)}…` : name
}

function openCopy(path) {
  mkdirSync(dirname(path), { recursive: true })
  return createWriteStream(path)
}
