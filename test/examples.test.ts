/** The programs of `examples/`, each as a process, as their first lines say how to start them. */
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startListening } from './support/child.js'
import { redisOf, skipWithoutRedis } from './support/redis.js'
import { until } from './support/until.js'

const folder = new URL('../examples/', import.meta.url)
const json = { 'content-type': 'application/json' }

/** What each program is for, seen from outside. */
const programs: Readonly<Record<string, (t: Test, start: Start) => Promise<void>>> = {
  'quick-start.js': async (t, start) => {
    const { send } = await start()
    for (const title of ['One', 'Two', 'Three']) {
      const body = JSON.stringify({ title })
      t.match(await send('/v1/books', { method: 'POST', headers: json, body }), { status: 201 })
    }
    const page = await send('/v1/books?limit=2&fields=id')
    const [three, two] = ['9007199254740995', '9007199254740994']
    const items = [three, two].map((id) => `{"id":${id},"id_str":"${id}"}`)
    t.equal(page.text, `{"books":[${items}]}`, 'exact, in pages, with the selected fields')
    t.equal(page.headers.get('link'), `</v1/books?limit=2&fields=id&before_id=${two}>; rel="next"`)
    t.match((await send(`/v1/books/${two}`)).text, '"title":"Two"')
    const bad = await send('/v1/books', { method: 'POST', headers: json, body: '{}' })
    t.match(bad, { status: 400, text: '"pointer":"/title"' })
  },
  'commonjs.cjs': async (t, start) => {
    const { send } = await start()
    t.match(await send('/v1/users/ada'), { status: 200, text: '"name":"Ada Lovelace"' })
    const override = { method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }
    t.match(await send('/v1/users/ada', override), { status: 204 })
    t.match(await send('/v1/users/ada'), { status: 404 })
  },
  'typebox.ts': async (t, start) => {
    const { send } = await start()
    const path = '/v1/orders/9007199254740993'
    const put = (status: string) =>
      send(path, { method: 'PUT', headers: json, body: JSON.stringify({ status }) })
    t.match(await put('lost'), { status: 400, text: '"pointer":"/status"' })
    t.match(await put('paid'), { status: 200, text: '"id":9007199254740993,"id_str":"9007199254740993"' })
    const first = await send(path)
    const tag = first.headers.get('etag') ?? ''
    t.match(await send(path, { headers: { 'if-none-match': tag } }), { status: 304 })
    t.match(await send('/openapi.json'), { status: 200, text: '"Problem"' })
  },
  'zod.ts': async (t, start) => {
    const { send } = await start()
    const create = () =>
      send('/v1/users', { method: 'POST', headers: json, body: '{"name":"Ada","email":"ada@example.com"}' })
    t.match(await create(), { status: 201, text: '"id":9007199254740993,"id_str":"9007199254740993"' })
    t.match(await create(), { status: 409, text: '"code":"already-exists"' })
    t.match(await send('/v1/users/9007199254740993?fields=name'), { status: 200, text: '{"name":"Ada"}' })
  },
  'one-plugin.js': async (t, start) => {
    const { send } = await start()
    const old = await send('/prices.json')
    t.equal(old.headers.get('etag'), null, 'the rest of the service is as it was')
    const kept = await send('/v1/prices')
    t.equal(kept.headers.get('cache-control'), 'public, max-age=60')
    t.equal(kept.text, old.text)
    const headers = { 'if-none-match': kept.headers.get('etag') ?? '' }
    t.match(await send('/v1/prices', { headers }), { status: 304, text: '' })
  },
  'own-convention.js': async (t, start) => {
    const { send } = await start()
    t.match(await send('/v1/orders/1'), { status: 400, text: '"code":"tenant-missing"' })
    t.match(await send('/v1/orders/1', { headers: { 'x-tenant': 'acme' } }), { status: 200 })
    t.match(await send('/v1/orders/1', { headers: { 'x-tenant': 'other' } }), { status: 404 })
    t.match(await send('/health'), { status: 200 })
  },
  'operation.js': async (t, start) => {
    const { send } = await start()
    const begin = (prefer: string) =>
      send('/v1/reports', { method: 'POST', headers: { ...json, prefer }, body: '{"lines":3}' })
    const started = await begin('respond-async')
    t.match(started, { status: 202, text: '"status":"In progress"' })
    const status = () => send(started.headers.get('operation-location') ?? '')
    await until(status, ({ text }) => text.includes('"status":"Succeeded"'))
    t.match(await send(started.headers.get('location') ?? ''), { status: 303 })
    const waited = await begin('wait=10')
    t.equal(waited.status, 303)
    const report = await send(waited.headers.get('location') ?? '')
    t.match(report, { status: 200, text: '["line 1","line 2","line 3"]' })
  },
  'several-instances.js': async (t, start) => {
    const redis = await redisOf(t)
    const [one, other] = [await start({ REDIS_URL: redis.url }), await start({ REDIS_URL: redis.url })]
    const request = { method: 'POST', headers: { 'idempotency-key': 'one-mail', prefer: 'wait=5' } }
    const first = await one.send('/v1/mails', request)
    t.match(first.text, '"sentBy"')
    t.equal((await other.send('/v1/mails', request)).text, first.text, 'a replay of the other instance')
    const left = (answer: Answer) => Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1])
    t.equal(left(await one.send('/v1/instances')) - left(await other.send('/v1/instances')), 1, 'one quota')
  },
  'adopt-in-report.js': async (t, start) => {
    const { send } = await start()
    t.match(await send('/v1/getUser?id=7'), { status: 200, text: '{"userName":"Ada","id":"7"}' })
    t.match(await send('/legacy/Report'), { status: 200, text: '[]' })
    const report = await send('/conventions.txt')
    t.match(report.text, /GET \/v1\/getUser +pathGuard\.uppercase +boot/)
    t.notMatch(report.text, /pathGuard.*\/legacy/)
  },
}

t.test('each program has a test, and at most 60 lines', async (t) => {
  const files = (await readdir(folder)).filter((name) => /\.(?:js|cjs|ts)$/.test(name))
  t.strictSame(files.sort(), Object.keys(programs).sort())
  for (const name of files) {
    const lines = (await readFile(new URL(name, folder), 'utf8')).trimEnd().split('\n').length
    t.ok(lines <= 60, `${name}: ${lines} lines`)
  }
})

const skip = await skipWithoutRedis()

for (const [name, run] of Object.entries(programs)) {
  t.test(name, { skip: name === 'several-instances.js' && skip }, (t) =>
    run(t, (environment) => startProgram(t, name, environment)),
  )
}

/** Starts a program, and returns what sends requests to it. */
type Start = (environment?: Record<string, string>) => ReturnType<typeof startProgram>

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Starts a program on a free port and waits until it listens; it ends with the test. */
async function startProgram(t: Test, name: string, environment = {}) {
  const path = fileURLToPath(new URL(name, folder))
  const origin = await startListening(t, {
    args: name.endsWith('.ts') ? ['--import', 'tsx', path] : [path],
    environment: { ...environment, PORT: '0' },
  })
  return {
    async send(path: string, request?: RequestInit): Promise<Answer> {
      const response = await fetch(origin + path, { redirect: 'manual', ...request })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
  }
}
