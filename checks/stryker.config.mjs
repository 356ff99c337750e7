// Stryker for the folder that MUTATE names, of src/plugins or of src, or for the files at the top of src (`src`);
// scripts/mutate.mjs starts it.
import { existsSync, readdirSync } from 'node:fs'

const name = process.env.MUTATE ?? 'problems'
const folder = existsSync(`src/plugins/${name}`) ? `plugins/${name}` : name

/** Folders and files whose tests also run, because they show what the first one does for its users. */
const others = {
  convention: [
    'preset',
    'plugins/security-headers',
    'plugins/versions',
    'plugins/fields',
    'plugins/problems',
    'plugins/integer-twins',
    'plugins/formats',
    'plugins/method-override',
    'plugins/path-guard/requests.test.ts',
    'providers',
    'schema/bodies.test.ts',
  ],
  'dev-issuer': ['demo/logins.test.ts'],
  'integer-twins': ['providers/matrix.test.ts'],
  operations: ['plugins/fields/hidden.test.ts', 'preset/identify.test.ts'],
  problem: ['plugins/problems', 'server-options'],
  src: [
    'options.test.ts',
    'preset.test.ts',
    'text.test.ts',
    'fast-ticks.test.ts',
    'preset',
    'server-options',
  ],
  schema: [
    'json',
    'convention',
    'plugins/fields',
    'plugins/integer-twins',
    'plugins/lists',
    'plugins/response-rules',
    'providers',
  ],
  testing: ['plugins/bearer/index.test.ts'],
}

// Without tests that start programs, measure memory or read what is built: each takes seconds.
const tests = [...(name === 'src' ? [] : [folder]), ...(others[name] ?? [])].flatMap((at) =>
  at.endsWith('.ts')
    ? `test/${at}`
    : readdirSync(`test/${at}`, { recursive: true })
        .filter(
          (file) =>
            /(?<!\.slow|-heap|-memory|bundle)\.test\.ts$/.test(file) &&
            !/(^|\/)(redis|postgres|bullmq|pg-boss)\b/.test(file),
        )
        .map((file) => `test/${at}/${file}`),
)

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'bundles',
  plugins: ['./checks/stryker-runner.mjs'],
  // The sources are bundled once, with all mutants; the process that tests a mutant switches it on.
  buildCommand: `node scripts/test.mjs --bundle ${tests.join(' ')}`,
  mutate: [
    name === 'src' ? 'src/*.ts' : `src/${folder}/**/*.ts`,
    // Their tests are among those that are left out.
    '!src/plugins/*/{engines/{bullmq,pg-boss},stores/{redis,postgres}}.ts',
    '!src/cli/{check,check-process,index}.ts',
    // They are tests: mutants of the stores show what they miss.
    '!src/testing/*contract.ts',
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
