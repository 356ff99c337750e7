/** What is published: everything that a user needs, and nothing else. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { manifestOf, packedBy } from './pack.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest = manifestOf()
const { files, unpackedSize } = await packedBy('--dry-run')

t.test('has only files of the package', async (t) => {
  const belongs = /^(dist\/.+|docs\/.+|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/
  for (const file of files) t.match(file, belongs)
  for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs/errors.md'])
    t.ok(files.includes(file), file)
})

t.test('has every file that package.json names', async (t) => {
  const { main, module, types } = manifest
  for (const file of [main, module, types, ...targetsOf(manifest.exports)]) {
    t.ok(files.includes(posix.normalize(file)), file)
  }
})

t.test('has the size and the number of packages that the README states', async (t) => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const [, megabytes, own, all] =
    /is (\d+\.\d) MB:[^.]+\. It has (\d+) dependencies, (\d+) packages with\s+theirs/.exec(readme) ?? []
  const stated = Number(megabytes) * 1e6
  const isTrue = unpackedSize <= stated && unpackedSize > 0.9 * stated
  t.ok(isTrue, `${unpackedSize} bytes, README: ${megabytes} MB`)
  t.equal(Object.keys(manifest.dependencies).length, Number(own))
  t.equal(installedWith(manifest.dependencies).size, Number(all))
})

t.test('the error of a failed boot is not preceded by a long line of the build', async (t) => {
  const boot = `
    const app = Fastify()
    app.register(conventions)
    app.get('/Users', async () => [])
    app.ready()
  `
  const sources = {
    module: `import Fastify from 'fastify'; import { conventions } from 'fastify-conventions'; ${boot}`,
    commonjs: `const Fastify = require('fastify'); const { conventions } = require('fastify-conventions'); ${boot}`,
  }
  for (const [type, source] of Object.entries(sources)) {
    const args = [`--input-type=${type}`, '--eval', source]
    const { stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    t.match(stderr, /^FastifyError.*breach.* in 1 route$/m, type)
    t.notMatch(stderr, /^.{201}/m, type)
  }
})

t.test('loggers show the name of ProblemError, although the build shortens names of classes', async (t) => {
  const { ProblemError } = (await import(`${root}/dist/index.js`)) as typeof import('../../src/index.js')
  t.equal(ProblemError.name, 'ProblemError')
})

t.test('has few dependencies, and peers with lower bounds, of which only Fastify is needed', async (t) => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifest
  t.equal(Object.keys(dependencies).join(' '), '@fastify/rate-limit ajv helmet xxhash-wasm')
  const optional =
    '@fastify/csrf bullmq csv-stringify fast-xml-parser ioredis jose oidc-provider pg pg-boss typebox zod'
  const { fastify, ...others } = peerDependencies
  t.equal(Object.keys(others).join(' '), optional)
  t.equal(fastify, `^${manifestOf('fastify-oldest').version}`)
  // The checks of the platforms install the lower bounds.
  for (const [name, range] of Object.entries(others)) t.match(range, /^>=\d+\.\d+\.\d+$/, name)
  const isOptional = ([, meta]: [string, { optional: boolean }]) => meta.optional
  const names = Object.entries(peerDependenciesMeta).filter(isOptional)
  t.equal(names.map(([name]) => name).join(' '), optional)
})

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
