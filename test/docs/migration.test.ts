/** docs/migration.md: the code before and after, run as it stands, sends what the tables say. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { blocksOf } from './markdown.js'

// Inside the repository, so that the packages of the page are found there.
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\.cache\/tests\/$/, '')
const page = await readFile(join(root, 'docs', 'migration.md'), 'utf8')
const json = { 'content-type': 'application/json' }
let files = 0

const address = '"address":{"city":"Paris","street":"Rue A"}'
/** What json-mask picks, and the status of `fields`. */
const expected: Readonly<Record<string, readonly [body: string, status: number]>> = {
  name: ['{"name":"Ada"}', 200],
  password: ['{"password":"x"}', 400],
  '*': [`{"id":1,"name":"Ada",${address},"password":"x"}`, 200],
  'address/city': ['{"address":{"city":"Paris"}}', 400],
  'address(city,street)': [`{${address}}`, 400],
  nope: ['{}', 400],
}

t.test('from helmet, cors, rate-limit and etag', async (t) => {
  const { before, after } = await appsOf(t, 'From helmet')
  const origin = { origin: 'https://app.example' }
  const read = await both(before, after, { url: '/v1/users/1', headers: origin })
  t.match(read.before.headers, { 'x-ratelimit-limit': '100', etag: /^"/ })
  t.match(read.after.headers, { 'ratelimit-policy': /q=100/, ratelimit: /r=99/, 'cache-control': 'no-cache' })
  t.notOk('cache-control' in read.before.headers || 'ratelimit' in read.before.headers)
  t.notOk('x-ratelimit-limit' in read.after.headers)
  t.not(read.before.headers.etag, read.after.headers.etag)
  for (const { headers } of [read.before, read.after]) {
    t.equal(headers['access-control-allow-origin'], origin.origin)
    t.match(headers['access-control-expose-headers'], /ETag.*X-Total|X-Total.*ETag/i)
  }
  const helmets = [
    'content-security-policy',
    'cross-origin-opener-policy',
    'cross-origin-resource-policy',
    'origin-agent-cluster',
    'referrer-policy',
    'strict-transport-security',
    'x-content-type-options',
    'x-dns-prefetch-control',
    'x-download-options',
    'x-frame-options',
    'x-permitted-cross-domain-policies',
    'x-xss-protection',
  ]
  t.strictSame(
    helmets.filter((name) => !(name in read.before.headers)),
    [],
  )
  t.notOk('x-download-options' in read.after.headers)

  const stale = await both(before, after, { url: '/v1/users/1', headers: { 'if-match': '"other"' } })
  t.strictSame([stale.before.statusCode, stale.after.statusCode], [200, 412])

  const unknown = await both(before, after, { url: '/v1/nothing' })
  t.notOk('x-ratelimit-remaining' in unknown.before.headers)
  t.match(unknown.after.headers.ratelimit, /r=\d+/)
  t.match(unknown.before.json(), { statusCode: 404, error: 'Not Found', message: /not found/ })
  t.match(unknown.after.json(), { status: 404, code: 'not-found' })
  const matching = { 'if-none-match': `${unknown.before.headers.etag}` }
  const again = await both(before, after, { url: '/v1/nothing', headers: matching })
  t.strictSame([again.before.statusCode, again.after.statusCode], [304, 404])

  const wrong = await both(before, after, { method: 'DELETE', url: '/v1/users/1' })
  t.strictSame([wrong.before.statusCode, wrong.after.statusCode], [404, 405])
  t.match(wrong.after.headers.allow, /GET/)

  for (const app of [before, after]) {
    const statuses: number[] = []
    for (const _ of [1, 2, 3, 4, 5, 6]) {
      statuses.push((await app.inject({ method: 'POST', url: '/v1/logins' })).statusCode)
    }
    t.strictSame(statuses, [200, 200, 200, 200, 200, 429])
  }
})

t.test('from method-override', async (t) => {
  const app = await appOf(t, blockOf('From Express', 1))
  app.post('/v1/forms', async () => ({}))
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const post = (headers: Record<string, string>, payload?: string) =>
    app.inject({
      method: 'POST',
      url: '/v1/users/1',
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
  t.equal((await post({ 'x-http-method-override': 'DELETE' })).statusCode, 204)
  t.strictSame((await post(form, '_method=PATCH&age=31')).json(), { age: 31 })
  const refused = { statusCode: 400, body: '"code":"method-override-invalid"' }
  t.match(await post({ 'x-http-method-override': 'TRACE' }), refused)
  t.match(await post({ ...form, 'x-http-method-override': 'DELETE' }, '_method=PATCH&age=31'), refused)
  t.match(await post({ ...form, origin: 'https://other.example' }, '_method=PATCH&age=31'), refused)
  t.equal((await post(json, '{"_method":"PATCH","age":31}')).statusCode, 405)
  const plain = await app.inject({ method: 'POST', url: '/v1/forms', headers: form, payload: 'age=31' })
  t.equal(plain.statusCode, 415)
})

t.test('from json-mask', async (t) => {
  const { before, after } = await appsOf(t, 'From json-mask')
  const rows = [...section('From json-mask').matchAll(/^\| `(?!fields=`)([^`]+)` \| (.*?) \| (.*?) \|$/gm)]
  t.ok(rows.length >= 6)
  for (const [, fields = ''] of rows) {
    const answers = await both(before, after, { url: `/v1/users/1?fields=${encodeURIComponent(fields)}` })
    t.equal(answers.before.statusCode, 200)
    t.strictSame(
      [fields, answers.before.body, answers.after.statusCode],
      [fields, ...(expected[fields] ?? [])],
    )
  }
  const none = await both(before, after, { url: '/v1/users/1' })
  t.match(none.before.body, /password/)
  t.notMatch(none.after.body, /password/)
  t.equal((await after.inject('/v1/users/1?fields=address.city')).body, '{"address":{"city":"Paris"}}')
  t.equal(
    (await after.inject('/v1/users/1?fields=address.city,address.street')).body,
    '{"address":{"city":"Paris","street":"Rue A"}}',
  )
})

function section(title: string): string {
  const found = page.split(/^## /m).find((part) => part.startsWith(title))
  if (found === undefined) throw new Error(`no section ${title}`)
  return found
}

function blockOf(title: string, index: number): string {
  const block = blocksOf(section(title)).filter(({ language }) => language === 'js')[index]
  if (block === undefined) throw new Error(`${title} has no block ${index + 1}`)
  return block.text
}

async function appsOf(t: Test, title: string) {
  return { before: await appOf(t, blockOf(title, 0)), after: await appOf(t, blockOf(title, 1)) }
}

/** Runs a block; it names its app `app`. */
async function appOf(t: Test, code: string): Promise<FastifyInstance> {
  const name = `app-${++files}.mjs`
  const quiet = code.replace(', logger: true', '').replace('{ logger: true }', '')
  const folder = join(t.testdir({ [name]: `${quiet}\nexport { app }\n` }), name)
  const { app } = (await import(pathToFileURL(folder).href)) as { app: FastifyInstance }
  t.teardown(() => app.close())
  return app
}

async function both(
  before: FastifyInstance,
  after: FastifyInstance,
  request: InjectOptions,
): Promise<{ readonly before: LightMyRequestResponse; readonly after: LightMyRequestResponse }> {
  return { before: await before.inject(request), after: await after.inject(request) }
}
