// Stryker for the folder that MUTATE names, of src/plugins or of src; scripts/mutate.mjs starts it.
import { existsSync, readdirSync } from 'node:fs'

const name = process.env.MUTATE ?? 'problems'
const folder = existsSync(`src/plugins/${name}`) ? `plugins/${name}` : name

// Without tests that start programs or measure memory: each takes seconds.
const tests = readdirSync(`test/${folder}`, { recursive: true }).filter(
  (file) =>
    /(?<!\.slow|-heap|-memory)\.test\.ts$/.test(file) &&
    !/(^|\/)(redis|postgres|bullmq|pg-boss)\b/.test(file),
)

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'bundles',
  plugins: ['./checks/stryker-runner.mjs'],
  // The sources are bundled once, with all mutants; the process that tests a mutant switches it on.
  buildCommand: `node scripts/test.mjs --bundle ${tests.map((file) => `test/${folder}/${file}`).join(' ')}`,
  mutate: [
    `src/${folder}/**/*.ts`,
    // Their tests are among those that are left out.
    '!src/plugins/*/{engines/{bullmq,pg-boss},stores/{redis,postgres}}.ts',
  ],
  ignorers: ['texts'],
  ignorePatterns: ['/dist', '/bench/results', '/.cache', '/.tap', '/reports'],
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
  thresholds: { high: 95, low: 88, break: 88 },
}
