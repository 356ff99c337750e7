/** docs/migration.md: the code before and after, run as it stands, sends what the tables say. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
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

const helmets =
  `content-security-policy cross-origin-opener-policy cross-origin-resource-policy origin-agent-cluster
  referrer-policy strict-transport-security x-content-type-options x-dns-prefetch-control x-download-options
  x-frame-options x-permitted-cross-domain-policies x-xss-protection`.split(/\s+/)

t.test('from helmet, cors, rate-limit and etag', async (t) => {
  const { before, after } = await appsOf(t, 'From helmet')
  const origin = { origin: 'https://app.example' }
  const [old, read] = await both(before, after, { url: '/v1/users/1', headers: origin })
  t.match(old.headers, { 'x-ratelimit-limit': '100', etag: /^"/ })
  t.match(read.headers, { 'ratelimit-policy': /q=100/, ratelimit: /r=99/, 'cache-control': 'no-cache' })
  for (const name of ['cache-control', 'ratelimit']) t.notOk(name in old.headers, name)
  for (const name of ['x-ratelimit-limit', 'x-download-options']) t.notOk(name in read.headers, name)
  for (const name of helmets) t.ok(name in old.headers, name)
  t.not(old.headers.etag, read.headers.etag)
  for (const { headers } of [old, read]) {
    t.equal(headers['access-control-allow-origin'], origin.origin)
    t.match(headers['access-control-expose-headers'], /ETag.*X-Total|X-Total.*ETag/i)
  }

  const [unknown] = await both(before, after, { url: '/v1/nothing' })
  for (const [request, statuses] of [
    [{ url: '/v1/users/1', headers: { 'if-match': '"other"' } }, [200, 412]],
    [{ url: '/v1/nothing', headers: { 'if-none-match': `${unknown.headers.etag}` } }, [304, 404]],
    [{ method: 'DELETE', url: '/v1/users/1' }, [404, 405]],
  ] as const) {
    const answers = await both(before, after, request)
    t.match(
      answers,
      statuses.map((statusCode) => ({ statusCode })),
    )
  }
  const [oldError, error] = await both(before, after, { url: '/v1/nothing' })
  t.notOk('x-ratelimit-remaining' in oldError.headers)
  t.match(error.headers.ratelimit, /r=\d+/)
  t.match(oldError.json(), { statusCode: 404, error: 'Not Found', message: /not found/ })
  t.match(error.json(), { status: 404, code: 'not-found' })

  for (const app of [before, after]) {
    const statuses: number[] = []
    for (const _ of [1, 2, 3, 4, 5, 6])
      statuses.push((await app.inject({ method: 'POST', url: '/v1/logins' })).statusCode)
    t.strictSame(statuses, [200, 200, 200, 200, 200, 429])
  }
})

t.test('from method-override', async (t) => {
  const app = await appOf(t, blockOf('From Express', 1))
  app.post('/v1/forms', async () => ({}))
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const header = { 'x-http-method-override': 'DELETE' }
  const patch = '_method=PATCH&age=31'
  const refused = '"code":"method-override-invalid"'
  for (const [url, headers, payload, statusCode, body] of [
    ['/v1/users/1', header, '', 204, ''],
    ['/v1/users/1', form, patch, 200, '{"age":31}'],
    ['/v1/users/1', { 'x-http-method-override': 'TRACE' }, '', 400, refused],
    ['/v1/users/1', { ...form, ...header }, patch, 400, refused],
    ['/v1/users/1', { ...form, origin: 'https://other.example' }, patch, 400, refused],
    ['/v1/users/1', json, '{"_method":"PATCH","age":31}', 405, 'method-not-allowed'],
    ['/v1/forms', form, 'age=31', 415, 'unsupported-media-type'],
  ] as const) {
    const answer = await app.inject({ method: 'POST', url, headers, ...(payload !== '' && { payload }) })
    t.match(answer, { statusCode, body }, `${JSON.stringify(headers)} ${payload}`)
  }
})

t.test('from json-mask', async (t) => {
  const { before, after } = await appsOf(t, 'From json-mask')
  const rows = [...section('From json-mask').matchAll(/^\| `(?!fields=`)([^`]+)` \| (.*?) \| (.*?) \|$/gm)]
  t.ok(rows.length >= 6)
  for (const [, fields = ''] of rows) {
    const [old, now] = await both(before, after, { url: `/v1/users/1?fields=${encodeURIComponent(fields)}` })
    t.strictSame([old.statusCode, old.body, now.statusCode], [200, ...(expected[fields] ?? [])], fields)
  }
  const [old, now] = await both(before, after, { url: '/v1/users/1' })
  t.match(old.body, /password/)
  t.notMatch(now.body, /password/)
  for (const [fields, body] of [
    ['address.city', '{"address":{"city":"Paris"}}'],
    ['address.city,address.street', `{${address}}`],
  ])
    t.equal((await after.inject(`/v1/users/1?fields=${fields}`)).body, body)
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

async function both(before: FastifyInstance, after: FastifyInstance, request: InjectOptions) {
  return [await before.inject(request), await after.inject(request)] as const
}
