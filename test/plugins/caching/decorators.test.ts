/** Plugins that decorate replies with the names of our helpers: both orders boot, and both forms of a call work. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import ts from 'typescript'
import conventions, { type Mode } from '../../../src/index.js'
import { keepLogs } from '../../support/logs.js'

// Their types would change those of replies for the whole program: the types have a test of their own below.
const require = createRequire(import.meta.url)
const sensible: FastifyPluginAsync = require('@fastify/sensible')
const fastifyCaching: FastifyPluginAsync = require('@fastify/caching')
const root = fileURLToPath(new URL('../../..', import.meta.url))

// The compiler reads the libraries once.
t.setTimeout(120_000)

/** A reply as a user of both sees it. */
interface ReplyOfBoth {
  cacheControl(...given: readonly unknown[]): this
  etag(tag?: string, lifetime?: number): this
  expires(time: Date | number): this
  header(name: string, value: string): this
  vary: { (names: string | readonly string[]): ReplyOfBoth; append(header: string, names: string): string }
}

const orders: Readonly<Record<string, readonly FastifyPluginAsync[]>> = {
  'before ours': [sensible, fastifyCaching, conventions],
  'after ours': [conventions, sensible, fastifyCaching],
}

async function appOf(
  plugins: readonly FastifyPluginAsync[],
  mode: Mode = 'enforce',
): Promise<{ readonly app: FastifyInstance; readonly warnings: () => unknown[] }> {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  for (const plugin of plugins) {
    if (plugin === conventions) await app.register(conventions, { mode })
    else await app.register(plugin)
  }
  const routes: Readonly<Record<string, (reply: ReplyOfBoth) => unknown>> = {
    ours: (reply) =>
      reply
        .cacheControl({ maxAge: 60 })
        .etag('v7')
        .expires(Date.now() + 60_000)
        .vary(['accept']),
    theirs: (reply) => {
      reply.vary('accept')
      reply.cacheControl('max-age', 60).cacheControl('public').etag('v7', 5_000).expires(new Date(4e12))
    },
    appends: (reply) => reply.header('x-vary', reply.vary.append('accept', 'origin')),
  }
  for (const [name, call] of Object.entries(routes)) {
    app.get(`/v1/${name}`, { config: { pathGuard: false } }, async (_request, reply) => {
      call(reply as unknown as ReplyOfBoth)
      return { updated_at: '2026-11-20T08:00:00Z' }
    })
  }
  return { app, warnings: () => logs.lines.map(({ msg }) => msg) }
}

for (const [order, plugins] of Object.entries(orders)) {
  t.test(`@fastify/sensible and @fastify/caching ${order}: both call forms work`, async (t) => {
    const { app } = await appOf(plugins)

    const ours = await app.inject('/v1/ours')
    t.equal(ours.statusCode, 200, ours.payload)
    t.match(ours.headers, { 'cache-control': /\bmax-age=60\b/, etag: '"v7"', expires: / GMT$/ })
    t.match(ours.headers.vary, /accept/i)

    const theirs = await app.inject('/v1/theirs')
    t.equal(theirs.statusCode, 200, theirs.payload)
    t.match(theirs.headers, { 'cache-control': 'max-age=60, public', etag: '"v7"', expires: / GMT$/ })
    t.match(theirs.headers.vary, /accept/i)

    t.equal((await app.inject('/v1/appends')).headers['x-vary'], 'accept, origin')
    const again = await app.inject({ url: '/v1/theirs', headers: { 'if-none-match': '"v7"' } })
    t.equal(again.statusCode, 304)
  })

  t.test(`in report mode, ${order}: helpers of the app are not changed`, async (t) => {
    const { app } = await appOf(plugins, 'report')

    const { headers } = await app.inject('/v1/theirs')
    t.match(headers, { 'cache-control': 'max-age=60, public', etag: 'v7' })
  })
}

t.test('in a child context the helpers are merged, and in the parent they are not', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  app.get('/v1/above', { config: { pathGuard: false } }, async (_request, reply) => {
    reply.cacheControl({ maxAge: 1 })
    return {}
  })
  app.register(async (scope) => {
    await scope.register(sensible)
    scope.get('/v1/below', { config: { pathGuard: false } }, async (_request, reply) => {
      ;(reply as unknown as ReplyOfBoth).cacheControl({ maxAge: 2 }).cacheControl('immutable')
      return {}
    })
  })

  t.equal((await app.inject('/v1/above')).headers['cache-control'], 'max-age=1')
  t.equal((await app.inject('/v1/below')).headers['cache-control'], 'max-age=2, immutable')
})

t.test('decorators of the app that are not functions stay, and the report names them', async (t) => {
  const app = Fastify()
  app.decorateReply('vary', 'a word' as never)
  app.decorateReply('expires', { getter: () => 'a getter' } as never)
  await app.register(conventions)
  app.get('/v1/users', async (_request, reply) => ({ vary: reply.vary, expires: reply.expires }))

  t.strictSame((await app.inject('/v1/users')).json(), { vary: 'a word', expires: 'a getter' })
  t.strictSame(
    app.conventions
      .report()
      .findings.map(({ rule, problem, effect }) => [rule, problem.split(' ', 1)[0], effect]),
    ['expires', 'vary'].map((name) => ['decorators', `reply.${name}`, 'none']),
  )
})

t.test(
  'the types merge with those of @fastify/sensible, and work without them',
  { timeout: 120_000 },
  async (t) => {
    const imports = [
      "import sensible from '@fastify/sensible'",
      "import fastifyCaching from '@fastify/caching'",
      "import conventions from 'fastify-conventions'",
    ]
    const both = (order: readonly string[]) => `${order.join('\n')}
    import Fastify from 'fastify'
    const app = Fastify()
    app.register(sensible)
    app.register(fastifyCaching)
    app.register(conventions)
    app.get('/', async (_request, reply) => {
      reply.vary('accept')
      reply.vary.append('accept', 'origin')
      reply.cacheControl({ maxAge: 1 }).cacheControl('max-age', 1).etag('x').etag('x', 1).expires(1).expires(new Date())
    })`
    const alone = `
    import 'fastify-conventions'
    import Fastify from 'fastify'
    Fastify().get('/', async (_request, reply) => {
      reply.vary(['accept'] as const).cacheControl({ maxAge: 1 })
      // @ts-expect-error a number is not a name
      reply.vary(1)
      // @ts-expect-error that is a form of @fastify/sensible
      reply.cacheControl('max-age', 1)
    })`
    for (const source of [both(imports), alone]) t.strictSame(faultsOf(source), [])
  },
)

const sourceFiles = new Map<string, ts.SourceFile | undefined>()
const looked =
  /\/test\/plugins\/caching\/program\.ts$|\/src\/plugins\/caching\/index\.ts$|\/@fastify\/(?:sensible|caching)\/.*\.d\.ts$|\/fastify\/types\/reply\.d\.ts$/

/** What the compiler says of a program, and of the files that declare what replies have. */
function faultsOf(source: string): string[] {
  const file = join(root, 'test/plugins/caching/program.ts')
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    paths: { 'fastify-conventions': [join(root, 'src/index.ts')] },
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (path) => path === file || fileExists(path)
  host.getSourceFile = (path, ...rest) => {
    if (path === file) return ts.createSourceFile(path, source, ts.ScriptTarget.ES2023)
    if (!sourceFiles.has(path)) sourceFiles.set(path, getSourceFile(path, ...rest))
    return sourceFiles.get(path)
  }
  const program = ts.createProgram([file], options, host)
  return program
    .getSourceFiles()
    .filter(({ fileName }) => looked.test(fileName))
    .flatMap((one) => [...program.getSemanticDiagnostics(one)])
    .map(
      ({ file: at, messageText }) => `${at?.fileName} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
}
