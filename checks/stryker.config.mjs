// Stryker for the convention that MUTATE names; scripts/mutate.mjs starts it.
import { readdirSync } from 'node:fs'

const name = process.env.MUTATE ?? 'problems'
const folder = `test/plugins/${name}`

// Without tests that start programs or measure memory: each takes seconds.
const tests = readdirSync(folder, { recursive: true }).filter(
  (file) => /(?<!\.slow|-heap)\.test\.ts$/.test(file) && !/(^|\/)(redis|postgres|bullmq)\b/.test(file),
)

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'bundles',
  plugins: ['./checks/stryker-runner.mjs'],
  // The sources are bundled once, with all mutants; the process that tests a mutant switches it on.
  buildCommand: `node scripts/test.mjs --bundle ${tests.map((file) => `${folder}/${file}`).join(' ')}`,
  mutate: [
    `src/plugins/${name}/**/*.ts`,
    '!src/plugins/operations/{engines/{bullmq,pg-boss},stores/{redis,postgres}*}/**',
  ],
  // Tests do not check texts for people.
  mutator: { excludedMutations: ['StringLiteral'] },
  ignorePatterns: ['/dist', '/docs', '/bench/results', '/.cache', '/.tap', '/reports'],
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // Each run leaves its modules in memory.
  maxTestRunnerReuse: 50,
  concurrency: 2,
  timeoutMS: 5_000,
  tempDirName: '.cache/mutation/sandbox',
  reporters: ['clear-text', 'progress-append-only', 'json'],
  jsonReporter: { fileName: `.cache/mutation/${name}-report.json` },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  thresholds: { high: 95, low: 85, break: 85 },
}
