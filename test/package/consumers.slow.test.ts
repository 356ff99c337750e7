// Own process: it is slow
/**
 * The package as users meet it: the tarball, installed into empty folders, in TypeScript, as ESM and as CommonJS; servers in
 * processes of their own, asked over sockets. (In JavaScript: test/platforms/checks.mjs.)
 */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { blocksOf } from '../docs/markdown.js'
import { runCommand, startListening } from '../support/child.js'
import { ask, requestBytes } from '../support/raw.js'
import { manifestOf, pack } from './pack.js'

/** A request, its status, and the code of its problem or what else is in the response. */
type Row = readonly [asked: string, status: number, expected?: string | object]

const whole: readonly Row[] = [
  ['GET /v1/users?limit=1', 200, { headers: { link: /before_id=3.*rel="next"/ } }],
  ['GET /v1/users?before_id=2', 200],
  ['GET /v1/Users', 404, 'path-uppercase'],
  ['GET /%zz', 400, 'uri-malformed'],
  ['GET /nope', 404, 'not-found'],
  ['DELETE /v1/users', 405, 'method-not-allowed'],
  ['POST /v1/payments/7/retry', 409, 'not-retryable'],
]

const cached = { etag: '"7"', 'cache-control': /max-age=60/ }

/** What servers with one convention, imported by its subpath, answer: the convention is there. */
const alone: Readonly<Record<string, readonly Row[]>> = {
  'path-guard': [['GET /v1/Users/abc', 400, 'path-uppercase']],
  lists: [['GET /v1/users?limit=1', 200, { headers: { link: /rel="next"/ } }]],
  problems: [['GET /nope', 404, 'not-found']],
  fields: [['GET /v1/users/1?fields=name', 200, { body: '{"name":"knows name"}' }]],
  'integer-twins': [['GET /v1/users/9007199254740992', 200, { body: /^{"id":9007199254740993,/ }]],
  'response-rules': [['GET /v1/users', 200]],
  caching: [['GET /v1/users/1', 200, { headers: cached }]],
  maintenance: [
    ['GET /v1/users', 503, 'maintenance'],
    ['GET /v1/health', 200, { body: '{"maintenance":"The database moves"}' }],
  ],
  versions: [['GET /v0/users', 410, 'version-retired']],
  'self-alias': [['GET /v1/users/me', 401, 'unauthorized']],
  'security-headers': [['GET /v1/users', 200, { headers: { 'x-frame-options': 'DENY' } }]],
  cors: [['GET /v1/users', 200, { headers: { vary: 'Origin' } }]],
  'rate-limit': [['GET /v1/users', 200, { headers: { ratelimit: '"default";r=99;t=30' } }]],
  operations: [
    ['POST /v1/payments/7/retry', 202, { headers: { 'retry-after': '2' } }],
    ['GET /v1/invoices/7', 202, { body: '{"status":"In progress","progress":0.5}' }],
  ],
}

const followed = 'In progress, 0.5 DELETE, Succeeded, r-7, id, refused 404 not-found'

// The client is for browsers too.
const withoutNode = { compilerOptions: { lib: ['ES2022', 'DOM'], types: [] } }

// Outside the repository, or the consumers would find its node_modules.
const work = await mkdtemp(join(tmpdir(), 'consumers-'))
// The oldest version is the one in docs/type-providers.md.
const [oldest, newest] = ['5.4', '7.0'] as const
t.teardown(() => rm(work, { recursive: true, force: true }))
const dependencies =
  `fastify @types/node typebox zod @fastify/swagger @fastify/type-provider-json-schema-to-ts
  @fastify/type-provider-typebox fastify-type-provider-zod json-schema-to-ts oidc-provider`.split(/\s+/)
await writeFile(join(work, 'package.json'), '{ "private": true }')
const tarball = (await pack(work)).path
const compilers = [oldest, newest].map((version) => `typescript-${version}@npm:typescript@~${version}.0`)
const versions = dependencies.map((dependency) => `${dependency}@${manifestOf(dependency).version}`)
await install(work, tarball, ...versions, ...compilers)

// Most of the time goes into installing and compiling.
t.jobs = 2

for (const type of ['module', 'commonjs']) {
  t.test(`TypeScript, compiled to ${type}`, { buffered: true }, async (t) => {
    const folder = await typescriptConsumer(type, type)
    // A program for each file: the types that one subpath brings along must not be there through another.
    const names = (await readdir(join(folder, 'src'))).flatMap(
      (file) => /^(?!of-|with-provider)(.*)\.ts$/.exec(file)?.[1] ?? [],
    )
    const configOf = (name: string) => ({ files: [`src/${name}.ts`], ...(name === 'client' && withoutNode) })
    const programs = await Promise.all(names.map((name) => program(folder, name, configOf(name))))
    await t.resolves(compile(newest, folder, '--build', ...programs), 'compiles')
    await serves(t, folder, ['dist/server.js'], whole)
    for (const [name, rows] of Object.entries(alone)) await serves(t, folder, ['dist/serve.js', name], rows)
    const outputOf = (file: string) => runCommand(process.execPath, [`dist/${file}`], folder)
    t.match(await outputOf('testing.js'), /clauses are kept/)
    t.match(await outputOf('dev-issuer.js'), /^Bearer orders:read$/m)
    t.match(await outputOf('client.js'), followed)
    t.match(await outputOf('stores.js'), 'The database moves null true')
    const read = await compile(newest, folder, '--project', 'tsconfig.client.json', '--listFilesOnly')
    t.match(read, /fastify-conventions\/dist\/client\.d\.c?ts/)
    t.notMatch(read, /node_modules\/(fastify|@types)\//, 'it brings along neither Fastify nor Node.js')
  })
}

for (const type of ['module', 'commonjs']) {
  t.test(`TypeScript ${oldest}, ${type}, without skipLibCheck`, { buffered: true }, async (t) => {
    const folder = await typescriptConsumer(`oldest-${type}`, type)
    // TypeBox is an ES module, which CommonJS may import with the types of TypeScript 5.8.
    const newer = type === 'module' ? [] : ['src/*typebox.ts', 'src/with-provider.ts']
    const exclude = ['src/pages', 'src/*-zod.ts', ...newer]
    const compilerOptions = { lib: ['ES2022', 'DOM'] }
    const all = await program(folder, 'all', { compilerOptions, include: ['src'], exclude })
    await t.resolves(compile(oldest, folder, '--noEmit', '--project', all), 'compiles')
    // The declarations of fastify-type-provider-zod need TypeScript 5.8.
    const zod = await program(folder, 'with-zod', { files: ['src/with-zod.ts'] })
    await t.resolves(compile(oldest, folder, '--noEmit', '--project', zod, '--skipLibCheck'), 'with Zod')
  })
}

t.test('the TypeScript of the pages compiles', { buffered: true }, async (t) => {
  const folder = await typescriptConsumer('pages', 'module')
  const root = new URL('../../', import.meta.url)
  // The tutorial is a program in several files, which a test of its own runs.
  const isPage = (name: string) => name.endsWith('.md') && name !== 'tutorial.md'
  const pages = (await readdir(new URL('docs/', root))).filter(isPage)
  const written: string[] = []
  for (const page of ['README.md', ...pages.map((name) => `docs/${name}`)]) {
    const blocks = blocksOf(await readFile(new URL(page, root), 'utf8'))
    for (const [index, { language, text }] of blocks.entries()) {
      if (language !== 'ts') continue
      written.push(page)
      const file = `${page.replace('/', '-')}-${index + 1}.ts`
      await writeFile(join(folder, 'src/pages', file), `${text}\nexport {}\n`)
    }
  }
  t.ok(written.includes('docs/type-providers.md'))
  const all = await program(folder, 'pages', { include: ['src/pages'] })
  await t.resolves(compile(newest, folder, '--noEmit', '--project', all), 'compiles')
})

t.test(
  'npm refuses older peers; if it is forced, the engine names what it needs',
  { buffered: true },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'peers-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const older = { bullmq: '^5.0.0', 'pg-boss': '^9.0.0', jose: '^5.0.0', zod: '^3.25.0' }
    const all = { ...older, fastify: manifestOf('fastify').version }
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies: all }))
    await t.rejects(install(folder, tarball), /ERESOLVE/)
    await install(folder, tarball, '--legacy-peer-deps')
    const program = `
    import Fastify from 'fastify'
    import conventions from 'fastify-conventions'
    import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
    await Fastify().register(conventions).ready()
    try { bullmqEngine({ redis: 'redis://127.0.0.1' }) } catch (error) { console.log(error.message) }`
    const said = await runCommand(process.execPath, ['--input-type=module', '--eval', program], folder)
    t.match(said, 'bullmqEngine needs bullmq 6.7; the app has installed')
  },
)

function install(folder: string, ...args: readonly string[]): Promise<string> {
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  return runCommand('npm', ['install', ...flags, ...args], folder)
}

/** Writes the configuration of a program of its own, and returns its file. */
async function program(folder: string, name: string, config: object): Promise<string> {
  const file = `tsconfig.${name}.json`
  await writeFile(join(folder, file), JSON.stringify({ extends: './tsconfig.json', ...config }))
  return file
}

function compile(version: string, folder: string, ...options: readonly string[]): Promise<string> {
  const compiler = join(work, `node_modules/typescript-${version}/bin/tsc`)
  // tap adds its loader to every Node.js, and it cannot load the compiler of TypeScript 7.
  return runCommand('env', ['-u', 'NODE_OPTIONS', process.execPath, compiler, ...options], folder)
}

/** A folder of its own with the fixture in it, and with the program of each type provider. */
async function typescriptConsumer(name: string, type: string): Promise<string> {
  const folder = join(work, name)
  await cp(fileURLToPath(new URL('fixtures/typescript', import.meta.url)), folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type }))
  const program = await readFile(join(folder, 'src/with-provider.ts'), 'utf8')
  for (const provider of ['json-schema', 'typebox', 'zod'])
    await writeFile(join(folder, `src/with-${provider}.ts`), program.replace('of-typebox', `of-${provider}`))
  return folder
}

function serves(t: Test, folder: string, args: readonly string[], rows: readonly Row[]) {
  return t.test(args.join(' '), async (t) => {
    const origin = await startListening(t, { args, folder })
    for (const [asked, status, expected = {}] of rows) {
      const [method = '', path = ''] = asked.split(' ')
      const answer = await ask(Number(new URL(origin).port), requestBytes(method, path))
      if (typeof expected === 'string') {
        t.match(answer, { status, headers: { 'content-type': 'application/problem+json' } }, asked)
        t.match(JSON.parse(answer.body), { status, code: expected }, asked)
      } else t.match(answer, { status, ...expected }, asked)
    }
  })
}
