/**
 * The `js` blocks of the pages run: each one in an app of its own, which then gets ready. Names that a page does not explain,
 * such as `createUser`, stand for a handler. Blocks that are not run are in the table below, with the reason; they are code
 * all the same, and import what exists. (`consumers.slow.test.ts` compiles the `ts` blocks.)
 */
import diagnostics from 'node:diagnostics_channel'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import closeWithGrace from 'close-with-grace'
import Fastify, { type FastifyInstance } from 'fastify'
import { conventions, operationChannel, operations, problems, serverOptions } from 'fastify-conventions'
import mercurius from 'mercurius'
import t from 'tap'
import { until } from '../support/until.js'
import { blocksOf } from './markdown.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { readonly exports: object }

/** Pages whose blocks another test runs. */
const withOwnTest: Readonly<Record<string, string>> = {
  'docs/commonjs-and-bundling.md': 'programs.test.ts',
  'docs/migration.md': 'programs.test.ts',
  'docs/recipes.md': 'recipes.test.ts',
  'docs/tutorial.md': 'tutorial.slow.test.ts',
}

const inBrowser = 'a page in a browser'
const inTestRunner = 'a test of the reader, in a test runner'
const part = 'part of a handler or of options'
const redis = 'needs Redis'
const postgres = 'needs PostgreSQL'

/** Blocks that are not run: the page, a part of the block, and the reason. */
const notRun: readonly (readonly [page: string, part: string, reason: string])[] = [
  ['docs/client.md', 'for await (const state', 'sends requests to a service that does not exist'],
  ['docs/client.md', 'const withToken', inBrowser],
  ['docs/client.md', 'pagehide', inBrowser],
  ['docs/client.md', 'whenReady(', 'sends requests to a service that does not exist'],
  ['docs/errors.md', 'async function start()', 'a program of its own in CommonJS, as in the README'],
  ['docs/fields.md', 'const columns =', part],
  ['docs/fields.md', 'hidden: { email', part],
  ['docs/idempotency.md', 'postgresIdempotency(pool)', postgres],
  ['docs/into-a-running-service.md', 'export default async function app', 'loads the folders of an app'],
  ['docs/into-a-running-service.md', 'assertConventions', inTestRunner],
  ['docs/lists.md', "by: ['time']", part],
  ['docs/operations.md', 'finishedWork', 'needs a database'],
  ['docs/operations.md', 'prom-client', 'the test below runs it'],
  ['docs/problems.md', "throw new ProblemError('not-retryable'", part],
  ['docs/rate-limit.md', "from 'ioredis'", redis],
  ['docs/several-instances.md', "from 'ioredis'", redis],
  ['docs/several-instances.md', 'pgBossEngine', postgres],
  ['docs/several-instances.md', 'operationStoreContract', inTestRunner],
  ['docs/testing.md', 'assertConventions', inTestRunner],
  ['docs/type-providers.md', 'valibot', 'Valibot is not installed'],
  ['docs/xsrf.md', "fetch('/v1/users/1'", inBrowser],
]

const handler = async () => ({})
const object = (properties: object) => ({ type: 'object', properties })
const User = object({ id: { type: 'integer' }, name: { type: 'string' } })
const XSRF_SECRET = 's'.repeat(32)

/** What pages use without explaining it, besides handlers and the exports of the package. */
const offered: Readonly<Record<string, unknown>> = {
  User,
  NewUser: User,
  Users: object({ users: { type: 'array', items: User } }),
  issuer: 'https://id.example.com',
  audience: 'https://api.example.com',
  secret: XSRF_SECRET,
  process: { env: { CLIENT_SECRET: 'secret', XSRF_SECRET } },
  redis: { get: handler, set: handler, del: handler },
  schema: 'type Query { books: Int }',
  resolvers: {},
  console: { log: () => {} },
  swagger,
  swaggerUi,
  mercurius,
}

const exported: Record<string, unknown> = {}
for (const subpath of Object.keys(exports).filter((name) => name !== './package.json')) {
  Object.assign(exported, await import(subpath.replace('.', 'fastify-conventions')))
}

const pages = ['README.md', ...readdirSync(`${root}docs`).map((file) => `docs/${file}`)].filter(
  (page) => page.endsWith('.md') && withOwnTest[page] === undefined,
)
const reasonsUsed = new Set<unknown>()
const imports = /^import (?:(\w+)(?:, )?)?(?:\{([^}]*)\})? ?from '(.*)'$/gm

for (const page of pages) {
  const blocks = blocksOf(readFileSync(root + page, 'utf8')).filter(({ language }) => language === 'js')
  if (blocks.length === 0) continue
  t.test(page, async (t) => {
    for (const { text } of blocks) {
      for (const [, , names = '', from = ''] of text.matchAll(imports)) {
        if (!from.startsWith('fastify-conventions')) continue
        const exports: object = await import(from)
        for (const [name] of names.matchAll(/\w+(?= as |,|\s*$)/g)) t.ok(name in exports, `${from}: ${name}`)
      }
      const exception = notRun.find(([of, part]) => of === page && text.includes(part))
      if (exception === undefined) await t.resolves(runs(text), text.slice(0, 80))
      else t.doesNotThrow(() => compiled(/^\w+: /.test(text) ? `({ ${text} })` : text), text.slice(0, 80))
      if (exception !== undefined) reasonsUsed.add(exception)
    }
  })
}

t.test('the table has no row without a block, and no test that is missing', async (t) => {
  for (const row of notRun) t.ok(reasonsUsed.has(row), row.join(': '))
  const tests = readdirSync(`${root}test/docs`)
  for (const test of Object.values(withOwnTest)) t.ok(tests.includes(test), test)
})

t.test('a block that is wrong fails', async (t) => {
  await t.rejects(runs('await app.register(lists, { limit: 1 })'), /there is no such option/)
  await t.rejects(runs("app.get('/v1/users', { config: { lists: { by: 'name' } } }, handler)"))
})

t.test('docs/operations.md: prom-client counts events and observes durations', async (t) => {
  const [counted, observed]: [object[], { labels: object; seconds: number }[]] = [[], []]
  const Counter = class {
    inc = (labels: object) => counted.push(labels)
  }
  const Histogram = class {
    observe = (labels: object, seconds: number) => observed.push({ labels, seconds })
  }
  const subscribe = (channel: string, listener: (message: unknown) => void): void => {
    t.equal(channel, operationChannel)
    diagnostics.subscribe(channel, listener)
    t.teardown(() => diagnostics.unsubscribe(channel, listener))
  }
  const blocks = blocksOf(readFileSync(`${root}docs/operations.md`, 'utf8'))
  const recipe = blocks.find(({ text }) => text.includes("from 'prom-client'"))?.text ?? ''
  await evaluate(recipe, { load: async () => ({ Counter, Histogram, subscribe }) })

  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(operations, { drain: 0 })
  app.operations.define('pay', async () => {})
  app.operations.define('fail', async () => Promise.reject(new Error('it fails')))
  await app.ready()
  for (const name of ['pay', 'fail']) {
    const { id } = await app.operations.start(name)
    await until(
      () => app.operations.find(id),
      (found) => found?.status !== 'In progress',
      5_000,
      2,
    )
  }
  const events = ['start', 'run', 'end']
  const all = ['pay', 'fail'].flatMap((operation) => events.map((event) => ({ operation, event })))
  t.strictSame(counted, all)
  t.match(observed, [{ labels: { operation: 'pay', status: 'Succeeded' } }, { labels: { status: 'Failed' } }])
  t.ok(observed.every(({ seconds }) => seconds >= 0 && seconds < 60))
})

/** Runs a block, and makes its apps ready. */
async function runs(text: string): Promise<void> {
  const apps: FastifyInstance[] = []
  const create = (options: object): FastifyInstance => {
    const app = Fastify({ ...options, logger: false })
    // The ports of the pages may be in use.
    Object.assign(app, { listen: () => app.ready() })
    apps.push(app)
    return app
  }
  // Its listeners stay for the life of a process, and would end this one before its last tests.
  const listen = (...given: Parameters<typeof closeWithGrace>): void => closeWithGrace(...given).uninstall()
  const app = create({ ...serverOptions(), trustProxy: true })
  try {
    if (text.includes('register(swaggerUi')) await app.register(swagger)
    // A block that registers nothing shows routes of an app with the conventions.
    if (!/register\((?!swagger)/.test(text)) {
      const xsrf = { cookies: ['session'], secret: XSRF_SECRET }
      await app.register(conventions, { formats: {}, xsrf, pathGuard: false })
    }
    const substitutes: Readonly<Record<string, unknown>> = { fastify: create, 'close-with-grace': listen }
    const load = async (name: string) => (name in substitutes ? { default: substitutes[name] } : import(name))
    const names = { ...exported, ...offered, app, handler, Fastify: create, load }
    await evaluate(text, names)
    declareExcepted(app, text)
    for (const one of apps) await one.ready()
  } finally {
    await Promise.all(apps.map((one) => one.close()))
  }
}

/** Declares the routes that a block excepts: an exception for a route that does not exist fails the boot. */
function declareExcepted(app: FastifyInstance, text: string): void {
  const [, exceptions = ''] = text.split(/\bexceptions: /)
  for (const [, url = ''] of exceptions.matchAll(/\burl: '([^']*)'/g)) app.get(url, handler)
}

/** The code of a block as a function: `import` becomes `await load()`, and `…` a handler. */
function compiled(text: string) {
  const code = text
    .replace(/^export default |\bimport\.(?=meta)/gm, '')
    .replace(imports, (_line, first?: string, others?: string, from = '') => importOf(first, others, from))
    .replace(/(?<!\/\/.*|\/\* )…/g, 'handler')
  return new Function('scope', `with (scope) { return (async () => { ${code}\n })() }`)
}

/** Runs a block; a name that nothing has is a handler. */
async function evaluate(text: string, names: Readonly<Record<string, unknown>>): Promise<void> {
  const scope = new Proxy(names, {
    has: (own, name) => typeof name === 'string' && (name in own || !(name in globalThis)),
    get: (own, name) => (typeof name !== 'string' ? undefined : name in own ? own[name] : handler),
  })
  await compiled(text)(scope)
}

function importOf(first: string | undefined, others: string | undefined, from: string): string {
  const names = [first === undefined ? '' : `default: ${first}`, (others ?? '').replaceAll(' as ', ': ')]
  return `const { ${names.filter((name) => name.trim() !== '').join(', ')} } = await load('${from}')`
}
