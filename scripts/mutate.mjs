// Changes the sources of a folder in one place at a time, and checks that a test of its mirror in test/ fails (mutation testing):
// npm run test:mutation [-- folder of src/plugins or of src …] [--changed] [--every=N] [--redundant] [option of Stryker …]
// Without names, it tests all folders, which takes hours; with `--changed`, the files that differ from origin/main, or of the
// last commit where none does. `--every=10` tests each tenth mutant. `--redundant` lists the tests without which the same mutants
// are killed. The table of the scores is test/mutation-scores.md; each run replaces its rows. A value of an option follows `=`:
// `--concurrency=1`.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const stryker = 'checks/node_modules/.bin/stryker'
const table = 'test/mutation-scores.md'

const args = process.argv.slice(2)
const named = args.filter((arg) => !arg.startsWith('-'))
const redundant = args.includes('--redundant')
const every = Number(args.find((arg) => arg.startsWith('--every='))?.slice(8) ?? 1)
const own = /^--(changed|redundant|every=.*)$/
const options = [
  ...args.filter((arg) => arg.startsWith('-') && !own.test(arg)),
  ...(redundant ? ['--disableBail'] : []),
]
const changed = args.includes('--changed') ? changedFiles() : null
const all = () => ['src', ...readdirSync('src/plugins'), ...readdirSync('src')].filter(hasMirror)
const names = named.length > 0 ? named : changed === null ? all() : [...new Set(changed.map(nameOf))]

const unknown = named.filter((name) => !hasMirror(name))
if (unknown.length > 0) {
  console.error(`no folder of src and test: ${unknown.join(', ')}`)
  process.exit(2)
}

for (const name of names.filter(hasMirror)) {
  rmSync(reportOf(name), { force: true })
  const files = changed?.filter((file) => nameOf(file) === name) ?? []
  const mutate = files.length > 0 ? ['--mutate', files.join(',')] : []
  rmSync(killersOf(name), { force: true })
  const { status, error } = spawnSync(stryker, ['run', 'checks/stryker.config.mjs', ...mutate, ...options], {
    stdio: 'inherit',
    env: {
      ...process.env,
      MUTATE: name,
      MUTATE_EVERY: String(every),
      MUTATE_KILLERS: redundant ? resolve(killersOf(name)) : '',
    },
  })
  if (error !== undefined) {
    console.error(`${error.message}: npm run checks:install`)
    process.exit(2)
  }
  if (redundant && existsSync(killersOf(name))) listRedundant(name)
  if (status !== 0) process.exitCode = 1
  // A part of a folder is not its score.
  if (files.length === 0 && !args.some((arg) => /^(-m|--mutate)/.test(arg)) && existsSync(reportOf(name)))
    note(name)
}

function changedFiles() {
  const differing = (...range) =>
    execFileSync('git', ['diff', '--name-only', '--diff-filter=d', ...range, '--', 'src'], {
      encoding: 'utf8',
    })
      .split('\n')
      .filter((file) => file.endsWith('.ts'))
  const since = differing('origin/main')
  return since.length > 0 ? since : differing('HEAD~1')
}

/** Returns the name of a file's folder: `fields` of `src/plugins/fields/index.ts`, `http` of `src/http/url.ts`, `src` of `src/text.ts`. */
function nameOf(file) {
  const [top, first, second] = file.split('/')
  if (second === undefined) return top
  return first === 'plugins' ? second : first
}

function hasMirror(name) {
  if (name === 'src') return true
  return ['plugins/', ''].some((at) => existsSync(`src/${at}${name}`) && existsSync(`test/${at}${name}`))
}

function reportOf(name) {
  return `.cache/mutation/${name}-report.json`
}

function killersOf(name) {
  return `.cache/mutation/${name}-killers.jsonl`
}

/** Prints the tests, and then the assertions of the others, without which the other ones kill the same mutants. */
function listRedundant(name) {
  const lines = readFileSync(killersOf(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const nameOfFile = (file) => file.replace(/^.cache\/tests\/(.*)\.js$/, '$1.ts')
  const listOf = (nameOf) => {
    const killed = new Map()
    for (const { mutant, file, assertions } of lines) {
      for (const path of assertions) {
        const test = nameOf(nameOfFile(file), path)
        // Without a mutant, every assertion is noted; with one, an assertion may have the text of an error.
        if (mutant === null && test !== null) killed.set(test, killed.get(test) ?? new Set())
        else if (mutant !== null) killed.get(test)?.add(mutant)
      }
    }
    const times = new Map()
    for (const mutants of killed.values()) for (const id of mutants) times.set(id, (times.get(id) ?? 0) + 1)
    const left = new Set()
    for (const [test, mutants] of [...killed].sort(([, one], [, other]) => one.size - other.size)) {
      if (![...mutants].every((id) => times.get(id) > 1)) continue
      for (const id of mutants) times.set(id, times.get(id) - 1)
      left.add(test)
    }
    return left
  }
  const tests = listOf((file, [test]) => `${file} › ${test}`)
  const parents = new Set(
    lines.flatMap(({ assertions }) => assertions.map((path) => path.slice(0, -1).join(' › '))),
  )
  const assertions = listOf((file, path) => {
    const [test] = path
    const isIn = path.length > 1 && !parents.has(path.join(' › ')) && !tests.has(`${file} › ${test}`)
    return isIn ? `${file} › ${path.join(' › ')}` : null
  })
  const printed = [
    '',
    'Redundant tests',
    ...[...tests].sort(),
    '',
    'Redundant assertions',
    ...[...assertions].sort(),
  ]
  console.log(printed.join('\n'))
}

function note(name) {
  const { files } = JSON.parse(readFileSync(reportOf(name), 'utf8'))
  // Mutants that no test reaches are not run, so the sample is taken here, too.
  const mutants = Object.values(files)
    .flatMap((file) => file.mutants)
    .filter(({ id }) => id % every === 0)
  const count = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length
  const [killed, late, survived] = [count('Killed'), count('Timeout'), count('Survived', 'NoCoverage')]
  const score = ((killed + late) / (killed + late + survived)) * 100
  const head = `# Mutation scores

Made by \`npm run test:mutation\`. Mutants are changes of the sources; the tests are those of the same folder in \`test/\`.

| folder | score | killed | by the time limit | survived |
|---|---|---|---|---|
`
  const rows = existsSync(table)
    ? readFileSync(table, 'utf8')
        .split('\n')
        .filter((line) => /^\| [a-z-]+(, 1 of \d+)? \| \d/.test(line))
    : []
  const others = rows.filter(
    (row) => !row.startsWith(`| ${name}`) || /^[a-z-]/.test(row.slice(2 + name.length)),
  )
  const part = every === 1 ? '' : `, 1 of ${every}`
  const row = `| ${name}${part} | ${score.toFixed(1)} % | ${killed} | ${late} | ${survived} |`
  writeFileSync(table, `${head}${[...others, row].sort().join('\n')}\n`)
}
