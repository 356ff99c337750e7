/** The names that handlers call, as `docs/decorators.md` lists them: one that the app has already stays. */
import { readFile } from 'node:fs/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import OldestFastify from 'fastify-oldest'
import t from 'tap'
import conventions, { type ConventionsOptions, conventionsReport } from '../../src/index.js'
import { testIssuer } from '../../src/testing/index.js'
import { rethrowUnwrapped } from '../support/report-table.js'

const page = await readFile(new URL('../../docs/decorators.md', import.meta.url), 'utf8')

const row = /^\| `(app|request|reply)\.(\w+)(?:\(\))?` \| \[?`(\w+)`.*? \| ([^|]+) \|/gm
const rows = [...page.matchAll(row)].map(([, owner = '', name = '', plugin = '', modes = '']) => {
  return { owner: owner as 'app' | 'request' | 'reply', name, plugin, modes: modes.split(', ') }
})
type Row = (typeof rows)[number]

const own = ({ name }: Row) => `the app’s ${name}`

/** The conventions that are registered only with options. */
const optIn: ConventionsOptions = {
  bearer: (await testIssuer()).options,
  xsrf: { cookies: ['sid'], secret: 'a secret of at least thirty-two characters' },
}

t.test('docs/decorators.md lists all names of each mode, and no others', async (t) => {
  t.ok(rows.length > 10)
  const bare = await namesWith()
  for (const mode of ['report', 'enforce', 'off'] as const) {
    const added = (await namesWith({ ...optIn, mode })).filter((name) => !bare.includes(name))
    const documented = rows.filter(({ modes }) => modes.includes(mode))
    t.strictSame(added.sort(), documented.map(({ owner, name }) => `${owner}.${name}`).sort(), mode)
  }
})

for (const [release, create] of [
  ['newest', Fastify],
  ['oldest', OldestFastify as never as typeof Fastify],
] as const) {
  for (const mode of ['report', 'enforce'] as const) {
    t.test(`${release} Fastify, ${mode}: the app may have each name before, and none after`, async (t) => {
      const [app, later] = [create(), create()]
      for (const row of rows) decorateWith(app, row)
      for (const one of [app, later]) await one.register(conventions, { ...optIn, mode })
      const ofMode = rows.filter(({ modes }) => modes.includes(mode))
      for (const row of ofMode)
        t.throws(() => decorateWith(later, row), { code: 'FST_ERR_DEC_ALREADY_PRESENT' }, row.name)
      app.get('/v1/users', { config: { bearer: false } }, async (request, reply) => {
        const owners = { app, request, reply } as unknown as Record<string, Record<string, unknown>>
        return { names: rows.map(({ owner, name }) => owners[owner]?.[name]) }
      })
      t.strictSame((await app.inject('/v1/users')).json(), { names: rows.map(own) })
      const found = conventionsReport(app)?.findings.filter(({ rule }) => rule === 'decorators') ?? []
      // A `caller` of the app is set by `bearer`, too.
      const expected = ofMode.filter(({ name }) => name !== 'caller')
      t.strictSame(
        found.map(({ plugin, problem }) => `${plugin} ${problem.split(' ', 1)[0]}`).sort(),
        expected.map(({ plugin, owner, name }) => `${plugin} ${owner}.${name}`).sort(),
        'each is a finding',
      )
      for (const finding of found) t.match(finding, { effect: 'none', mode: 'report', route: '(all)' })
    })
  }
}

t.test('a decorator of a context below is that of its routes', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  app.register(async (below) => {
    below.decorateRequest('page' as never, null as never)
    below.decorateRequest('prefer', { getter: () => 'own' as never })
    below.get('/v1/users', async (request) => ({ page: request.page, prefer: request.prefer }))
  })
  app.get('/v1/orders', async (request) => ({ prefer: request.prefer.respondAsync }))
  t.strictSame((await app.inject('/v1/users')).json(), { page: null, prefer: 'own' })
  t.strictSame((await app.inject('/v1/orders')).json(), { prefer: false })
  t.strictSame(app.conventions.report().findings, [])
})

const work = async () => ({})

t.test('a route that relies on a name does not boot beside one of the app', async (t) => {
  for (const [plugin, owner, name] of [
    ['lists', 'request', 'page'],
    ['operations', 'reply', 'startOperation'],
  ] as const) {
    for (const mode of ['enforce', 'report'] as const) {
      const app = Fastify()
      decorateWith(app, { owner, name, plugin, modes: [] })
      await app.register(conventions, { mode, operations: plugin === 'operations' && {} })
      app.register(async (below) => {
        if (plugin === 'operations') below.operations.define('import', work)
        const config = plugin === 'lists' ? { lists: {} } : { operations: { starts: 'import' } }
        below.route({ method: plugin === 'lists' ? 'GET' : 'POST', url: '/v1/users', config, handler: work })
      })
      if (mode === 'enforce' || plugin === 'operations') {
        const row = `${plugin}\\.decorators +relies on ${owner}.${name} of ${plugin}.*docs/decorators\\.md`
        const refused = { code: 'FST_CONV_FINDINGS', message: new RegExp(row, 's') }
        await t.rejects(async () => app.ready().then(undefined, rethrowUnwrapped), refused, mode)
      } else {
        await app.ready()
        const found = app.conventions.report().findings.filter(({ rule }) => rule === 'decorators')
        const expected = { plugin, effect: 'boot stopped', mode: 'report', instead: /another name/ }
        t.match(found, { length: 1, 0: expected }, mode)
      }
    }
  }
})

t.test('handlers that call the conventions run in each mode', async (t) => {
  for (const mode of ['report', 'enforce', 'off'] as const) {
    const app = Fastify()
    await app.register(conventions, { mode, maintenance: {} })
    app.operations.define('import', async () => {})
    app.get('/v1/users', { config: { lists: {} } }, async (request, reply) => {
      const { page, fields, originalMethod, idempotency, expectedVersion } = request
      t.strictSame([fields, originalMethod, idempotency.key, expectedVersion], [null, 'GET', null, undefined])
      t.type(page.fetch, 'number')
      await idempotency.keep({}, {})
      return reply.caching({ cacheControl: { maxAge: 60 } }).list([])
    })
    app.put('/v1/users/:id', async (_request, reply) => reply.notReady(5))
    app.post('/v1/imports', async ({ prefer }, reply) => {
      t.equal(prefer.respondAsync, true)
      return reply.startOperation('import')
    })
    await app.ready()
    t.equal(app.maintenance.state(), null)
    t.strictSame((await app.inject('/v1/users')).json(), { users: [] }, mode)
    t.equal((await app.inject({ method: 'PUT', url: '/v1/users/1' })).statusCode, 202, mode)
    const headers = { prefer: 'respond-async' }
    t.equal((await app.inject({ method: 'POST', url: '/v1/imports', headers })).statusCode, 202, mode)
    await app.close()
  }
})

/** As most plugins do; a value of requests and replies is set when they are created. */
function decorateWith(app: FastifyInstance, row: Row): void {
  const methods = app as unknown as Record<string, (name: string, value: string) => unknown>
  const method = { app: 'decorate', request: 'decorateRequest', reply: 'decorateReply' }[row.owner]
  methods[method]?.(row.name, own(row))
}

/** All names that a handler can read on an app, a request and a reply; not those of symbols. */
async function namesWith(options?: ConventionsOptions): Promise<string[]> {
  const app = Fastify()
  if (options !== undefined) await app.register(conventions, options)
  const names = new Set<string>()
  app.get('/v1/users', { config: { bearer: false } }, async (request, reply) => {
    for (const [owner, object] of Object.entries({ app, request, reply })) {
      for (let one: object | null = object; one !== null; one = Object.getPrototypeOf(one))
        for (const name of Object.getOwnPropertyNames(one)) names.add(`${owner}.${name}`)
    }
    return {}
  })
  await app.inject('/v1/users')
  return [...names]
}
