/** Each cell of the table in docs/type-providers.md. */
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { withoutReferences } from '../support/openapi.js'
import { exampleApp, type Received, row, type TypeProvider, typeProviders } from './type-providers.js'

interface Running {
  readonly provider: TypeProvider
  /** An app with the preset, for all cells of the provider. */
  readonly app: FastifyInstance
  /** What its handlers have received in this cell. */
  readonly received: Received
}

type Cell = (t: Test, running: Running) => Promise<void>

const digits = '9007199254740993'
const json = { 'content-type': 'application/json' }

interface Documented {
  readonly parameters?: readonly { readonly name: string }[]
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: unknown }>>
  readonly requestBody?: unknown
}

const cells: Readonly<Record<string, Cell>> = {
  'The preset boots, without findings': async (t, { app }) => {
    t.strictSame(app.conventions.report().findings, [])
  },
  'Paging parameters of `lists`': async (t, { app, received }) => {
    const page = await app.inject(`/v1/users?limit=10&before_id=${digits}9999&name=Ada`)
    t.equal(page.statusCode, 400, 'an id beyond int64')
    t.match(page.json(), { code: 'validation', errors: [{ name: 'before_id' }] })
    const list = await app.inject('/v1/users?limit=10&include_total=false&name=Ada')
    t.equal(list.statusCode, 200, list.body)
    t.match(received, [{ query: { name: 'Ada' } }], 'the schema of the route validates the other parameters')
    const invalid = await app.inject('/v1/users?limit=x')
    t.match(invalid.json(), { code: 'validation', errors: [{ name: 'limit' }] })
  },
  'Selection by `fields`': async (t, { app }) => {
    t.equal((await app.inject('/v1/users/7?fields=name')).body, '{"name":"Ada"}')
    const list = `{"users":[{"id":${digits},"id_str":"${digits}"}]}`
    t.equal((await app.inject('/v1/users?fields=id')).body, list)
    const unknown = await app.inject('/v1/users/7?fields=password')
    t.equal(unknown.statusCode, 400)
    t.match(unknown.json(), { code: 'fields-invalid' })
  },
  'Hidden fields': async (t, { app }) => {
    const shown = await app.inject('/v1/users/7/profiles')
    t.strictSame(Object.keys(shown.json()), ['id', 'id_str', 'updated_at'])
    t.equal((await app.inject('/v1/users/7/profiles?fields=name')).statusCode, 400)
  },
  'Twins in responses': async (t, { app }) => {
    const { body } = await app.inject('/v1/users/7')
    t.equal(body, `{"id":${digits},"id_str":"${digits}","name":"Ada","updated_at":"${row.updated_at}"}`)
    t.match((await app.inject('/v1/users')).body, `{"users":[{"id":${digits},"id_str":"${digits}"`)
  },
  'Exact integers in requests': async (t, { app, received }) => {
    const post = (payload: string) => app.inject({ method: 'POST', url: '/v1/users', headers: json, payload })
    const statuses = [
      await app.inject(`/v1/users/${digits}`),
      await post(`{"id":${digits},"name":"x"}`),
      await post(`{"id_str":"${digits}","name":"x"}`),
      await post('{"id":7,"name":"x"}'),
    ].map((response) => response.statusCode)
    t.strictSame(statuses, [200, 201, 201, 201])
    t.match(
      received,
      [digits, digits, digits, 7].map((id) => ({ id: BigInt(id) })),
    )
    const refused = await post('{"id":"seven","name":"x"}')
    t.equal(refused.statusCode, 400)
    t.match(refused.json(), { code: 'validation', errors: [{ in: 'body', pointer: '/id' }] })
  },
  'Response rules': async (t, { provider }) => {
    const app = await exampleApp(provider)
    t.teardown(() => app.close())
    const schema = { response: { 200: provider.schemas.badUser } }
    app.get('/v1/persons', { schema }, async () => ({ firstName: 'Ada' }))
    const message = /GET \/v1\/persons .*firstName/
    await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS', message })
  },
  'Caching and preconditions': async (t, { app }) => {
    const { headers } = await app.inject('/v1/users/7')
    t.equal(headers['last-modified'], 'Fri, 02 Jan 2026 03:04:05 GMT')
    const again = await app.inject({ url: '/v1/users/7', headers: { 'if-none-match': String(headers.etag) } })
    t.equal(again.statusCode, 304)
  },
  'Operations: their routes and their inputs': async (t, { app, received }) => {
    const start = (payload: string) =>
      app.inject({ method: 'POST', url: '/v1/users/import', headers: { ...json, prefer: 'wait=5' }, payload })
    t.equal((await start('{"name":"x"}')).statusCode, 200)
    t.strictSame(received, [{ id: BigInt(digits), name: 'x' }])
    t.match((await start('{}')).json(), { code: 'validation', errors: [{ pointer: '/name' }] })
    const list = await app.inject('/v1/operations')
    t.match(list.json(), { operations: [{ status: 'Succeeded' }] })
    const [{ id }] = list.json<{ operations: [{ id: string }] }>().operations
    t.match((await app.inject(`/v1/operations/${id}`)).json(), { id, status: 'Succeeded' })
  },
  'Formats: XML': async (t, { app }) => {
    const { body } = await app.inject({ url: '/v1/users/7', headers: { accept: 'application/xml' } })
    t.match(body, `<user><id>${digits}</id><id_str>${digits}</id_str><name>Ada</name>`)
  },
  'The OpenAPI document': async (t, { app }) => {
    const { paths = {} } = withoutReferences(app.swagger()) as unknown as {
      paths?: Record<string, Record<'get' | 'post', Documented>>
    }
    const names = paths['/v1/users']?.get.parameters?.map((parameter) => parameter.name) ?? []
    const cursors = ['limit', 'before_id', 'before_time', 'after_id', 'include_total']
    const conditions = ['If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Unmodified-Since']
    t.strictSame([...names].sort(), ['fields', ...cursors, 'name', ...conditions].sort())
    const listed = paths['/v1/users']?.get.responses['200']
    t.ok(Object.keys(listed?.headers ?? {}).includes('Link'))
    const id = '"id":{"type":"integer","format":"int64"},"id_str":{"type":"string"'
    t.match(JSON.stringify(listed?.content), id)
    t.match(JSON.stringify(paths['/v1/users']?.post.requestBody), '"id_str"')
    t.ok(paths['/v1/users/import']?.post.responses['202'])
    t.ok(paths['/v1/operations/{id}']?.get.responses['303'])
    t.notMatch(JSON.stringify(paths), /_zod|~standard/)
  },
  'In `report` mode nothing changes': async (t, { provider }) => {
    const bare = await exampleApp(provider, null)
    const app = await exampleApp(provider, { mode: 'report', operations: false })
    t.teardown(() => Promise.all([bare.close(), app.close()]))
    const requests = [
      { url: '/v1/users' },
      { url: '/v1/users?limit=3' },
      { url: '/v1/users/7' },
      { url: '/v1/users/7?fields=name' },
      { method: 'POST', url: '/v1/users', payload: { id: 7, name: 'x' } },
      { method: 'POST', url: '/v1/users', payload: { id: 'x' } },
    ] as const
    for (const request of requests) {
      const [before, after] = [await bare.inject(request), await app.inject(request)]
      const what = `${'method' in request ? request.method : 'GET'} ${request.url}`
      t.equal(after.body, before.body, what)
      t.strictSame({ ...after.headers, date: '' }, { ...before.headers, date: '' }, what)
    }
  },
}

for (const provider of typeProviders) {
  t.test(provider.name, async (t) => {
    const received: Received = []
    const app = await exampleApp(provider, {}, received)
    t.teardown(() => app.close())
    await app.ready()
    for (const [name, cell] of Object.entries(cells)) {
      received.length = 0
      await t.test(name, (t) => cell(t, { provider, app, received }))
    }
  })
}

t.test('the table in docs/type-providers.md has these rows and columns', async (t) => {
  const page = readFileSync(new URL('../../docs/type-providers.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| '))
  const [head = [], ...body] = rows.map((line) => line.slice(2, -2).split(' | '))
  const columns = typeProviders.map(({ name }) => name)
  t.strictSame(head.slice(1, 1 + columns.length), columns)
  const named = body.map(([name]) => name).filter((name) => name !== undefined && name in cells)
  t.strictSame(named, Object.keys(cells))
})
