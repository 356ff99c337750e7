/** What is built and published: its files, what an import of it costs, in bundles, and two copies of it in one process. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import * as imported from 'fastify-conventions'
import OldestFastify from 'fastify-oldest'
import t from 'tap'
import { expected, hooksOf, options } from '../preset/sample-hooks.js'
import { injected, isProblem } from '../support/problem.js'
import { buildService, keepsConventions } from './bundled-service.js'
import { manifestOf, packedBy } from './pack.js'

type Copy = typeof imported
type Plugins = (readonly [name: string, plugin: FastifyPluginAsync<object>])[]

const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest = manifestOf()
const { files, unpackedSize } = await packedBy('--dry-run')

t.test('the package has the files that package.json names, and only files of the package', async (t) => {
  for (const file of files)
    t.match(file, /^(dist\/.+|docs\/.+|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/)
  const { main, module, types, exports } = manifest
  const others = ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs/errors.md']
  for (const file of [main, module, types, ...targetsOf(exports), ...others])
    t.ok(files.includes(posix.normalize(file)), file)
})

t.test('it has the size and the number of packages that the README states', async (t) => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [, megabytes, own, all] =
    /is (\d+\.\d) MB:[^.]+\. It has (\d+) dependencies, (\d+) packages with\s+theirs/.exec(readme) ?? []
  const stated = Number(megabytes) * 1e6
  const isTrue = unpackedSize <= stated && unpackedSize > 0.9 * stated
  t.ok(isTrue, `${unpackedSize} bytes, README: ${megabytes} MB`)
  t.equal(Object.keys(manifest.dependencies).length, Number(own))
  t.equal(installedWith(manifest.dependencies).size, Number(all))
})

t.test('it has few dependencies, and peers with lower bounds, of which only Fastify is needed', async (t) => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifest
  t.equal(Object.keys(dependencies).join(' '), '@fastify/rate-limit ajv helmet xxhash-wasm')
  const { fastify, ...others } = peerDependencies
  t.equal(fastify, `^${manifestOf('fastify-oldest').version}`)
  // The checks of the platforms install the lower bounds.
  for (const [name, range] of Object.entries(others)) t.match(range, /^>=\d+\.\d+\.\d+$/, name)
  const optional = Object.entries(peerDependenciesMeta).filter(([, meta]) => meta.optional)
  t.strictSame(Object.keys(others), Object.keys(Object.fromEntries(optional)))
})

t.test('the error of a failed boot is not preceded by a long line of the build', async (t) => {
  const boot = `const app = Fastify(); app.register(conventions); app.get('/Users', async () => []); app.ready()`
  for (const [type, load] of [
    ['module', `import Fastify from 'fastify'; import { conventions } from 'fastify-conventions'; `],
    [
      'commonjs',
      `const Fastify = require('fastify'); const { conventions } = require('fastify-conventions'); `,
    ],
  ] as const) {
    const args = [`--input-type=${type}`, '--eval', load + boot]
    const { stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    t.match(stderr, /^FastifyError.*breach.* in 1 route$/m, type)
    t.notMatch(stderr, /^.{201}/m, type)
  }
})

t.test('a bundle has only the code of the imported conventions', async (t) => {
  for (const plugin of readdirSync(join(root, 'src/plugins'))) {
    const name = plugin.replace(/-./g, ([, letter = '']) => letter.toUpperCase())
    const ofRoot = await bundle(`export { ${name} } from 'fastify-conventions'`)
    const ofSubpath = await bundle(`export { ${name} } from 'fastify-conventions/${plugin}'`)
    t.ok(ofRoot.length <= 1.3 * ofSubpath.length, `${name} of the root: ${ofRoot.length} characters`)
    const conventions = [...ofRoot.matchAll(/\(\{\s*name:\s*"(\w+)",\s*rules\b/g)].map(([, one]) => one)
    t.same(conventions, [name], 'one convention')
  }
})

t.test('the packages of a convention are not loaded before it is registered', async (t) => {
  const script = `Object.keys(require.cache).filter((path) => /@fastify.(cors|rate-limit)|node_modules.helmet|\\bajv\\b/.test(path))`
  for (const load of [`require('fastify-conventions')`, `import('fastify-conventions')`]) {
    const program = `(async () => { await ${load}; console.log(JSON.stringify(${script})) })()`
    t.same(JSON.parse(execFileSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' })), [])
  }
})

t.test(
  'the CommonJS build loads packages with require(), except packages that have ES modules only',
  async (t) => {
    const dist = join(root, 'dist')
    for (const file of readdirSync(dist).filter((name) => name.endsWith('.cjs'))) {
      const code = readFileSync(join(dist, file), 'utf8')
      t.notMatch(code, /\bimport\((?!["'](?:jose|oidc-provider)["']\))/, file)
    }
  },
)

t.test('a minified service keeps the conventions', async (t) => {
  const outfile = join(t.testdir(), 'service.cjs')
  const entryPoints = [join(root, 'test/package/bundled-service.ts')]
  await build({ entryPoints, outfile, bundle: true, minify: true, platform: 'node', format: 'cjs' })
  const minified = require(outfile) as typeof import('./bundled-service.js')
  await keepsConventions(t, await minified.buildService())
  const watched = { code: 'FST_CONV_FINDINGS' }
  await t.rejects(async () => minified.buildUnawaited().ready(), watched, 'the watch over routes is kept')
})

const required = require('fastify-conventions') as Copy
const pairs = [
  ['import first', imported, required],
  ['require first', required, imported],
] as const
// The types of the two releases are not the same to TypeScript.
const releases = { installed: Fastify, oldest: OldestFastify as unknown as typeof Fastify }

const names =
  `problems cors securityHeaders httpsOnly maintenance rateLimit pathGuard methodOverride versions bearer xsrf
  selfAlias lists responseRules fields integerTwins idempotency caching operations formats`.split(
    /\s+/,
  ) as readonly (keyof Copy)[]

for (const [pair, one, other] of pairs) {
  t.test(`plugins of two copies, ${pair}`, async (t) => {
    /** In the order of the preset, by turns of one copy and of the other. */
    const mixed = names.map(
      (name, index) => [name, (index % 2 === 0 ? one : other)[name] as FastifyPluginAsync<object>] as const,
    )
    t.not(one.lists, other.lists, 'import and require load two copies')

    for (const [release, create] of Object.entries(releases)) {
      const order = `the hooks stand in the order of the table, ${release}`
      t.strictSame(await hooksOf(registering(mixed), create), expected, order)
      t.strictSame(await hooksOf(registering(mixed.toReversed()), create), expected, `${order}, reversed`)
      // The requests have no token.
      const plugins = mixed.filter(([name]) => name !== 'bearer')
      await keepsConventions(t, await buildService(create, registering(plugins)))
    }

    const twice = Fastify()
    await twice.register(one.default)
    const refused = { code: 'FST_CONV_ALREADY_REGISTERED' }
    await t.rejects(async () => twice.register(other.default), refused, 'a second preset is refused')

    const errors = [{ in: 'body', pointer: '/name', message: 'is taken' } as const]
    const throwing = Fastify(one.serverOptions())
    await throwing.register(one.problems)
    throwing.get('/v1/users', async () => {
      throw new other.ProblemError('name-taken', { status: 409, errors })
    })
    const answer = injected(await throwing.inject('/v1/users'))
    isProblem(t, answer, { status: 409, code: 'name-taken', errors }, 'a ProblemError of the other copy')
    t.equal(other.ProblemError.name, 'ProblemError', 'for loggers: the build shortens names of classes')

    const breaching = Fastify()
    await breaching.register(one.pathGuard)
    await breaching.register(other.responseRules)
    const schema = { response: { 200: { type: 'array', items: { type: 'string' } } } }
    breaching.get('/v1/Users', { schema }, async () => [])
    const both = { code: 'FST_CONV_FINDINGS', message: /pathGuard[\s\S]*responseRules/ }
    await t.rejects(async () => breaching.ready(), both, 'findings of both are in one table')
  })
}

function registering(plugins: Plugins): (app: FastifyInstance) => Promise<void> {
  const given: Readonly<Record<string, object>> = options
  return async function registerAll(app) {
    for (const [name, plugin] of plugins) await app.register(plugin, given[name] ?? {})
  }
}

/** The code of this package in a bundle; packages stay outside, so that only our own code is counted. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minifyWhitespace: true,
    platform: 'node',
    format: 'esm',
    external: 'fastify fastify-plugin @fastify/* ajv helmet pluralize bullmq pg pg-boss ioredis'.split(' '),
    write: false,
    logLevel: 'error',
  })
  return outputFiles.map(({ text }) => text).join('')
}

/** The packages that npm installs for dependencies, by their place in the lock file. */
function installedWith(dependencies: Readonly<Record<string, string>>): Set<string> {
  const { packages }: { packages: Record<string, { dependencies?: Record<string, string> }> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  const installed = new Set<string>()
  const install = (from: string, name: string): void => {
    let folder = from
    while (folder !== '' && packages[`${folder}node_modules/${name}`] === undefined)
      folder = folder.replace(/node_modules\/(@[^/]+\/)?[^/]+\/$/, '')
    const place = `${folder}node_modules/${name}`
    if (installed.has(place)) return
    installed.add(place)
    for (const own of Object.keys(packages[place]?.dependencies ?? {})) install(`${place}/`, own)
  }
  for (const name of Object.keys(dependencies)) install('', name)
  return installed
}

function targetsOf(exports: unknown): string[] {
  if (typeof exports === 'string') return [exports]
  return typeof exports === 'object' && exports !== null ? Object.values(exports).flatMap(targetsOf) : []
}
