/** docs/migration.md and docs/commonjs-and-bundling.md: their programs run as they stand, and do what the pages say. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { userEnvironment } from '../support/child.js'
import { blocksOf } from './markdown.js'

// Inside the repository, so that the packages of the pages are found there.
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\.cache\/tests\/$/, '')
const pageOf = (name: string) => readFileSync(join(root, 'docs', name), 'utf8')
const page = pageOf('migration.md')
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
    t.strictSame([answers[0].statusCode, answers[1].statusCode], statuses)
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
  const app = await appOf(t, 'From Express', 1)
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

const [app = ''] = textsOf('cjs')
const lambda = textsOf('js').at(-1) ?? ''
const esbuild = join(root, 'node_modules/.bin/esbuild')
const commands = textsOf('sh').map((line) => line.replace('npx esbuild', esbuild))

const call = `
const event = (rawPath, method = 'GET', body) => ({
  rawPath, rawQueryString: '', headers: {}, body, isBase64Encoded: false, requestContext: { http: { method, sourceIp: '192.0.2.1' } },
})
for (const asked of [event('/v1/orders/7'), event('/v1/Orders/7'), event('/v1/orders/7', 'DELETE')]) {
  const { statusCode, headers, body } = await handler(asked)
  console.log(statusCode, headers.ratelimit, Buffer.from(body, 'base64').toString())
}
process.exit()
`
const answers = /^200 .*r=999;t=60 \{"id":"7"\}\n404 .*path-uppercase.*\n405 .*method-not-allowed.*\n$/

t.test('the handler of a function runs the hooks', async (t) => {
  const folder = t.testdir({
    'app.cjs': app,
    'lambda.mjs': lambda,
    'call.mjs': `import { handler } from './lambda.mjs'\n${call}`,
  })
  t.match(run(folder, `${process.execPath} call.mjs`), { status: 0, stdout: answers })
})

t.test('the commands bundle it, as CommonJS and as an ES module', async (t) => {
  t.equal(commands.length, 2)
  const folder = t.testdir({
    'app.cjs': app,
    'service.cjs': `const { buildApp } = require('./app.cjs')\nbuildApp().then((app) => app.inject('/v1/Orders/7')).then(({ statusCode }) => console.log(statusCode))`,
    'service.mjs': lambda,
    'call.mjs': `import { handler } from './dist/service.mjs'\n${call}`,
  })
  for (const command of commands) t.match(run(folder, command), { status: 0 })
  t.match(run(folder, `${process.execPath} dist/service.cjs`), { status: 0, stdout: '404\n' })
  t.match(run(folder, `${process.execPath} call.mjs`), { status: 0, stdout: answers })
  const [, command = ''] = commands
  run(folder, command.replace(/ \\\n +--banner.*/, ''))
  t.match(run(folder, `${process.execPath} call.mjs`).stderr, 'Dynamic require of', 'the banner is needed')
})

function section(title: string): string {
  return page.split(/^## /m).find((part) => part.startsWith(title)) ?? ''
}

async function appsOf(t: Test, title: string) {
  return { before: await appOf(t, title, 0), after: await appOf(t, title, 1) }
}

/** Runs a block of a section; it names its app `app`. */
async function appOf(t: Test, title: string, index: number): Promise<FastifyInstance> {
  const code = blocksOf(section(title)).filter(({ language }) => language === 'js')[index]?.text ?? ''
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

function textsOf(language: string): string[] {
  const blocks = blocksOf(pageOf('commonjs-and-bundling.md'))
  return blocks.filter((block) => block.language === language).map(({ text }) => text)
}

function run(folder: string, command: string) {
  return spawnSync('sh', ['-c', command], { cwd: folder, env: userEnvironment(), encoding: 'utf8' })
}
