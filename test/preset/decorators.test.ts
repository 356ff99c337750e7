/** The names that handlers call, as `docs/decorators.md` lists them: one that the app has already stays. */
import { readFile } from 'node:fs/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import OldestFastify from 'fastify-oldest'
import t from 'tap'
import conventions, { type ConventionsOptions, conventionsReport } from '../../src/index.js'
import { testIssuer } from '../../src/testing/index.js'
import { rethrowUnwrapped } from '../support/report-table.js'

const page = await readFile(new URL('../../docs/decorators.md', import.meta.url), 'utf8')

interface Row {
  readonly owner: 'app' | 'request' | 'reply'
  readonly name: string
  readonly plugin: string
  readonly modes: readonly string[]
}

const rows = [
  ...page.matchAll(/^\| `(app|request|reply)\.(\w+)(?:\(\))?` \| \[?`(\w+)`.*? \| ([^|]+) \|/gm),
].map(
  ([, owner, name, plugin, modes]) => ({ owner, name, plugin, modes: modes?.split(', ') }) as unknown as Row,
)

const own = ({ name }: Row) => `the app’s ${name}`

/** The conventions that are registered only with options. */
const optIn: ConventionsOptions = {
  bearer: (await testIssuer()).options,
  xsrf: { cookies: ['sid'], secret: 'a secret of at least thirty-two characters' },
}

const fastifies = { newest: Fastify, oldest: OldestFastify as unknown as typeof Fastify }

t.test('docs/decorators.md lists all names of each mode, and no others', async (t) => {
  t.ok(rows.length > 10)
  for (const mode of ['report', 'enforce', 'off'] as const) {
    const app = Fastify()
    const bare = namesOf(app)
    const apps = Fastify()
    await apps.register(conventions, { ...optIn, mode })
    const added = namesOf(apps).filter((name) => !bare.includes(name))
    const documented = rows.filter(({ modes }) => modes.includes(mode))
    t.strictSame(added.sort(), documented.map(({ owner, name }) => `${owner}.${name}`).sort(), mode)
  }
})

for (const [release, create] of Object.entries(fastifies)) {
  for (const mode of ['report', 'enforce'] as const) {
    t.test(`${release} Fastify, ${mode}: the app may have each name before`, async (t) => {
      const app = create()
      for (const row of rows) decorateWith(app, row)
      await app.register(conventions, { ...optIn, mode })
      app.get('/v1/users', { config: { bearer: false } }, async (request, reply) => {
        const owners = { app, request, reply } as unknown as Record<string, Record<string, unknown>>
        return { names: rows.map(({ owner, name }) => owners[owner]?.[name]) }
      })
      const { names } = (await app.inject('/v1/users')).json()
      t.strictSame(names, rows.map(own))
      const found = conventionsReport(app)?.findings.filter(({ rule }) => rule === 'decorators') ?? []
      // A `caller` of the app is set by `bearer`, too.
      const expected = rows.filter(({ name, modes }) => modes.includes(mode) && name !== 'caller')
      t.strictSame(
        found.map(({ plugin, problem }) => `${plugin} ${problem.split(' ', 1)[0]}`).sort(),
        expected.map(({ plugin, owner, name }) => `${plugin} ${owner}.${name}`).sort(),
        'each is a finding',
      )
      for (const finding of found) t.match(finding, { effect: 'none', mode: 'report', route: '(all)' })
    })

    t.test(`${release} Fastify, ${mode}: Fastify refuses each name after`, async (t) => {
      const app = create()
      await app.register(conventions, { ...optIn, mode })
      for (const row of rows.filter(({ modes }) => modes.includes(mode))) {
        t.throws(() => decorateWith(app, row), { code: 'FST_ERR_DEC_ALREADY_PRESENT' }, row.name)
      }
      await app.ready()
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

const relying: readonly (readonly [
  plugin: string,
  name: string,
  declare: (app: FastifyInstance) => unknown,
])[] = [
  ['lists', 'request.page', (app) => app.get('/v1/users', { config: { lists: {} } }, work)],
  [
    'operations',
    'reply.startOperation',
    (app) => {
      app.operations.define('import', work)
      app.post('/v1/imports', { config: { operations: { starts: 'import' } } }, work)
    },
  ],
]

t.test('a route that relies on a name does not boot beside one of the app', async (t) => {
  for (const [plugin, offered, declare] of relying) {
    const [owner, name] = offered.split('.') as [Row['owner'], string]
    for (const mode of ['enforce', 'report'] as const) {
      const app = Fastify()
      decorateWith(app, { owner, name, plugin, modes: [] })
      await app.register(conventions, { mode, operations: plugin === 'operations' && {} })
      app.register(async (below) => void declare(below))
      if (mode === 'enforce' || plugin === 'operations') {
        const row = `${plugin}\\.decorators +relies on ${offered} of ${plugin}.*docs/decorators\\.md`
        const refused = { code: 'FST_CONV_FINDINGS', message: new RegExp(row, 's') }
        await t.rejects(async () => app.ready().then(undefined, rethrowUnwrapped), refused, mode)
      } else {
        await app.ready()
        const found = app.conventions.report().findings.filter(({ rule }) => rule === 'decorators')
        t.match(found, [{ plugin, effect: 'boot stopped', mode: 'report', instead: /another name/ }], mode)
        t.equal(found.length, 1)
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

function decorateWith(app: FastifyInstance, row: Row): void {
  // As most plugins do; a value of requests and replies is set when they are created.
  if (row.owner === 'app') app.decorate(row.name as never, own(row) as never)
  else if (row.owner === 'request') app.decorateRequest(row.name as never, own(row) as never)
  else app.decorateReply(row.name as never, own(row) as never)
}

/** All names that a handler can read on an app, a request and a reply; not those of symbols. */
function namesOf(app: FastifyInstance): string[] {
  const symbol = (name: string) => {
    for (let object: object | null = app; object !== null; object = Object.getPrototypeOf(object)) {
      const found = Object.getOwnPropertySymbols(object).find(({ description }) => description === name)
      if (found !== undefined) return Reflect.get(app, found) as Constructor
    }
    throw new Error(name)
  }
  const constructors = { request: symbol('fastify.Request'), reply: symbol('fastify.Reply') }
  const { request, reply } = constructors
  const values = Object.entries(constructors).flatMap(([owner, { props = [] }]) =>
    props.flatMap(({ key }) => (typeof key === 'string' ? [`${owner}.${key}`] : [])),
  )
  for (const [owner, object] of Object.entries({ app, request: request.prototype, reply: reply.prototype })) {
    for (let one: object | null = object; one !== null; one = Object.getPrototypeOf(one))
      values.push(...Object.getOwnPropertyNames(one).map((name) => `${owner}.${name}`))
  }
  return [...new Set(values)]
}

/** How Fastify keeps decorators: values are set on each request, all others are on the prototype. */
interface Constructor {
  readonly prototype: object
  readonly props?: readonly { readonly key: unknown }[]
}
