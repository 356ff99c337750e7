// Runs the tests: node scripts/test.mjs [--all] [--package] [--fuzz] [--bundle] [--shuffle SEED] [--tap=FILE] [name …]
// Without names, every `*.test.ts` runs except `*.slow.test.ts`; `--all` adds these, and what test/support/thorough.ts says.
// `--package` leaves out those of the demo, the docs and the bench. `--fuzz` gives property tests new random values instead of
// the same ones in each run.
// esbuild bundles each test with the sources that it imports: this takes a third of the time that compiling in every test
// process takes. `npm run types` checks the types. `--bundle` makes one bundle per test file, for another runner, and runs no
// test. `--shuffle SEED` runs the files in another order, and in other processes. `--tap=FILE` keeps the TAP. With an option of
// tap, such as `--coverage`, tap's own runner runs the bundles.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const require = createRequire(import.meta.url)
// The esbuild of tsup, which builds the package.
const { build } = createRequire(require.resolve('tsup'))('esbuild')

const root = fileURLToPath(new URL('..', import.meta.url))
const bundles = join(root, '.cache/tests')
const ownProgram = join(root, 'scripts/run-programs.mjs')
const tapProgram = join(root, 'node_modules/tap/dist/esm/run.mjs')
const parentCheckInterval = 500

/** Programs that tests run in processes of their own, bundled like the tests. */
const programs = [
  'examples/demo-server/main.ts',
  'examples/demo-server/worker.ts',
  'test/convention/failed-boot-app.ts',
  'test/plugins/idempotency/faults/server.ts',
  'test/plugins/operations/engines/worker-process.ts',
  'test/plugins/operations/faults/member.ts',
  'test/plugins/operations/service-growth.ts',
]

/**
 * How many processes the files of a folder share; those of all other folders share `others`. A file whose first line is
 * `// Own process: <why>` has its own: it waits, measures, replaces a global, or needs the root of tap.
 */
const processCounts = { plugins: 3, demo: 2, others: 2, shuffled: 7 }
const ownProcess = /^\/\/ Own process: \w/

const args = process.argv.slice(2)
const own = /^--(all|package|fuzz|bundle|tap=.*)$/
const shuffleAt = args.indexOf('--shuffle')
const [, seed] = shuffleAt === -1 ? [] : args.splice(shuffleAt, 2)
if (args.includes('--fuzz')) process.env.FUZZ = '1'
if (args.includes('--all')) process.env.ALL_TESTS = '1'
const named = args.filter((arg) => !arg.startsWith('-'))
const tapOptions = args.filter((arg) => arg.startsWith('-') && !own.test(arg))

const files =
  named.length > 0
    ? named.flatMap((name) => testFiles(resolve(name), true))
    : testFiles(join(root, 'test'), args.includes('--all')).filter(
        (file) => !args.includes('--package') || !/^test\/(demo|docs|bench|scripts)\//.test(file),
      )
if (files.length === 0) {
  console.error(`no test file: ${named.join(' ')}`)
  process.exit(2)
}
const bundleOnly = args.includes('--bundle')
const programsToRun = await bundle(
  processesOf(files, !bundleOnly && named.every((name) => !name.endsWith('.ts'))),
)
if (!bundleOnly) runAll(programsToRun)

/** The test files at or below a path, relative to the root of the package. */
function testFiles(path, withSlow) {
  const found = statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true }).map((name) => join(path, name))
    : [path]
  return found
    .map((file) => relative(root, file))
    .filter((file) => file.endsWith('.test.ts') && !file.startsWith('test/package/fixtures/'))
    .filter((file) => withSlow || !file.endsWith('.slow.test.ts'))
    .sort()
}

/** Returns the processes: the name of each bundle, and its files. A file that is named in the arguments runs alone. */
function processesOf(files, share) {
  const processes = new Map()
  const turns = new Map()
  for (const file of seed === undefined ? files : shuffled(files)) {
    const [, folder] = file.split('/')
    const ofFolder = folder in processCounts ? folder : 'others'
    const group = seed === undefined ? ofFolder : 'shuffled'
    const turn = turns.get(group) ?? 0
    const isShared = share && !ownProcess.test(readFileSync(join(root, file), 'utf8'))
    const name = isShared ? `test/${group}-${(turn % processCounts[group]) + 1}` : file.replace(/\.ts$/, '')
    if (isShared) turns.set(group, turn + 1)
    processes.set(name, [...(processes.get(name) ?? []), file])
  }
  // The processes with most files start first, so that no core waits for them at the end.
  return new Map([...processes].sort(([, one], [, other]) => other.length - one.length))
}

/** Returns the files in an order that depends on the seed alone. */
function shuffled(files) {
  const keyOf = (file) => createHash('sha256').update(`${seed} ${file}`).digest('hex')
  return files.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}

/** Makes a bundle for each process. Returns the files that tap runs. */
async function bundle(processes) {
  rmSync(bundles, { recursive: true, force: true })
  const { warnings } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([
      ...[...processes.keys()].map((name) => [name, `process:${name}`]),
      ...programs.map((program) => [program.replace(/\.ts$/, ''), program]),
    ]),
    outdir: bundles,
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: 'linked',
    sourcesContent: false,
    // package.json has `sideEffects: false`, but the tests have side effects.
    ignoreAnnotations: true,
    // Stryker puts functions into blocks, where esbuild renames them; hooks are found by name.
    keepNames: bundleOnly,
    logLevel: 'warning',
    plugins: [{ name: 'tests', setup }],
  })
  // After a warning, a test may be missing.
  if (warnings.length > 0) process.exit(1)
  return [...processes.keys()].map((name) => relative(root, join(bundles, `${name}.js`)))

  function setup(builder) {
    if (bundleOnly) {
      builder.onResolve({ filter: /^tap$/ }, () => ({ path: 'tap', namespace: 'root' }))
      builder.onLoad({ filter: /./, namespace: 'root' }, () => ({ contents: 'export default rootOfTests' }))
      // The demo imports the package; what the runner changes is in the sources.
      builder.onResolve({ filter: /^fastify-conventions/ }, ({ path }) => {
        const name = path.slice('fastify-conventions/'.length) || '.'
        const places = ['src', 'src/schema', 'src/plugins/operations'].map((at) => join(root, at, name))
        const files = places.flatMap((place) => [`${place}.ts`, join(place, 'index.ts')])
        return { path: files.find((file) => existsSync(file)) }
      })
    }
    builder.onResolve({ filter: /^process:/ }, ({ path }) => ({ path: path.slice(8), namespace: 'process' }))
    builder.onLoad({ filter: /./, namespace: 'process' }, ({ path }) => ({
      contents: entryOf(processes.get(path)),
      resolveDir: root,
    }))
    const pglite = join(root, 'test/support/pglite.ts')
    builder.onResolve({ filter: /^@electric-sql\/pglite$/ }, ({ importer }) =>
      importer === pglite ? undefined : { path: pglite },
    )
    // A test finds the files beside it by `import.meta.url`, which must stay that of its source.
    builder.onLoad({ filter: /\/(test|bench|examples)\/.*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: 'ts',
    }))
  }
}

/** Returns a program that runs files one after the other. Its last line fails if a file has ended the run of tap early. */
function entryOf(files) {
  const isShared = files.length > 1
  const first = ['test/support/property-seed.ts', ...(isShared ? ['test/support/shared-root.ts'] : [])]
  const imports = [...first, ...files].map((file) => `import ${JSON.stringify(join(root, file))}`)
  if (!isShared) return imports.join('\n')
  return [...imports, "import tap from 'tap'", `tap.pass('${files.length} files ran')`].join('\n')
}

/** Runs the programs in a process group of their own. The group ends with this process, unless SIGKILL ends this process. */
function runAll(programs) {
  const coverage = tapOptions.includes('--coverage') ? [] : ['--disable-coverage']
  const ofTap = tapOptions.filter((option) => option !== '--coverage')
  const runner =
    tapOptions.length > 0
      ? [tapProgram, `--jobs=${availableParallelism() + 1}`, ...coverage, ...ofTap]
      : [ownProgram, ...args.filter((arg) => arg.startsWith('--tap='))]
  const child = spawn(process.execPath, [...runner, ...programs], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const parent = process.ppid
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => {
      end()
      process.exit(130)
    })
  }
  // A parent process that was killed sends no signal.
  const watch = setInterval(
    () => process.ppid !== parent && process.kill(process.pid, 'SIGTERM'),
    parentCheckInterval,
  )
  child.once('exit', (code) => {
    clearInterval(watch)
    // Ends processes that a test has left behind.
    end()
    process.exitCode = code ?? 1
  })
}
