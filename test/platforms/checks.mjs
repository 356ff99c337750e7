/**
 * What has to hold on every platform: node checks.mjs <esm|cjs> [name of Fastify], beside the installed package (scripts/test-platforms.mjs).
 * REDIS_URL adds the checks on Redis. Prints lines of JSON: `{ platform, fastify }`, `{ name, error }` of each check, and
 * `{ end: true }`.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const system = process.argv[2]
const require = createRequire(import.meta.url)
const load = system === 'cjs' ? async (name) => require(name) : (name) => import(name)
const folder = fileURLToPath(new URL('.', import.meta.url))
const program = join(dirname(require.resolve('fastify-conventions/package.json')), 'dist/cli/index.js')

const { default: Fastify } = await import(process.argv[3] ?? 'fastify')
const loaded = await load('fastify-conventions')
// As Fastify's own plugins are used from CommonJS: what `require` gives is the plugin.
const [conventions, { serverOptions }] = [system === 'cjs' ? loaded : loaded.default, loaded]

const big = 9007199254740993n
const chunked = { 'transfer-encoding': 'chunked' }
const post = (headers) => request('POST', '/v1/users', headers)
const json = { 'content-type': 'application/json' }
const user = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string' },
    updated_at: { type: 'string', format: 'date-time' },
  },
}
const users = {
  type: 'object',
  properties: { users: { type: 'array', items: user }, total: { type: 'integer' } },
}

const wholePreset = {
  ...refusals([
    ['a malformed URL', request('GET', '/%zz'), 400, 'uri-malformed'],
    ['a segment that is too long', request('GET', `/v1/users/${'1'.repeat(101)}`), 414, 'uri-too-long'],
    ['a malformed request line', 'NONSENSE\r\n\r\n', 400, 'request-malformed'],
    ['a malformed header field', 'GET / HTTP/1.1\r\nHost: a\r\nb c\r\n\r\n', 400, 'request-malformed'],
    ['two lengths', post({ 'content-length': '1\r\ncontent-length: 2' }), 400, 'request-malformed'],
    ['a length and chunks', post({ 'content-length': '3', ...chunked }), 400, 'request-malformed'],
    ['no Host', 'GET /v1/users HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'request-malformed'],
    ['an invalid Host', request('GET', '/v1/users', { host: 'u@h' }), 400, 'request-malformed'],
    ['two Hosts', request('GET', '/v1/users', { host: 'a\r\nhost: b' }), 400, 'request-malformed'],
    ['20 kB of header fields', post({ x: 'x'.repeat(20_000) }), 431, 'header-fields-too-large'],
    ['an unknown expectation', request('GET', '/v1/users', { expect: 'x' }), 417, 'expectation-failed'],
  ]),
  'Transfer-Encoding in HTTP/1.0 ends the connection': async ({ port }) => {
    const fields =
      'Host: a\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked'
    const first = `POST /v1/users HTTP/1.0\r\n${fields}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`
    const received = await exchange(port, first + request('GET', '/v1/users'))
    assert.match(received, /^HTTP\/1\.1 200 [\s\S]*^connection: close\r$/im)
    assert.equal(received.match(/HTTP\/1\.1/g).length, 1)
  },
  'pipelined requests get their responses in order': async ({ port }) => {
    const get = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
    const three = get('/v1/users') + get('/v1/Users') + request('DELETE', '/v1/users')
    const received = await exchange(port, three)
    assert.deepEqual(received.match(/(?<=HTTP\/1\.1 )\d+/g), ['200', '404', '405'])
  },
  'a body that is too long gets a 413': async ({ ask }) => {
    const body = JSON.stringify({ name: 'x'.repeat(2 ** 21) })
    isProblem(await ask('/v1/users', { method: 'POST', headers: json, body }), 413, 'content-too-large')
  },
  'a list has Link and its total': async ({ ask }) => {
    const { body, headers } = await ask('/v1/users?limit=2&include_total=true')
    assert.deepEqual(Object.keys(JSON.parse(body)), ['users', 'total'])
    assert.equal(JSON.parse(body).total, 3)
    const link = `</v1/users?limit=2&include_total=true&before_id=${big + 1n}>; rel="next", `
    assert.ok(headers.get('link').startsWith(link), headers.get('link'))
    const next = await ask(`/v1/users?limit=2&before_id=${big + 1n}`)
    assert.match(next.body, new RegExp(`^{"users":\\[{"id":${big},"id_str":"${big}"`))
    assert.doesNotMatch(next.headers.get('link'), /rel="next"/)
  },
  'large integers are exact, in both directions': async ({ ask }) => {
    const item = '"name":"Ada","updated_at":"2026-01-01T00:00:00.000Z"}'
    assert.equal((await ask(`/v1/users/${big}`)).body, `{"id":${big},"id_str":"${big}",${item}`)
    const sent = { method: 'POST', headers: json, body: `{"id":${big},"name":"Ada"}` }
    assert.equal((await ask('/v1/users', sent)).body, `{"id":${big},"id_str":"${big}","name":"Ada"}`)
    isProblem(await ask('/v1/users/9223372036854775808'), 400, 'validation')
  },
  'HEAD has the headers of GET, and a 304 has no body': async ({ ask, port }) => {
    const { headers, body } = await ask(`/v1/users/${big}`)
    const again = await ask(`/v1/users/${big}`, { headers: { 'if-none-match': headers.get('etag') } })
    assert.deepEqual([again.status, again.body], [304, ''])
    const head = await exchange(port, request('HEAD', `/v1/users/${big}`))
    assert.match(head, new RegExp(`^content-length: ${body.length}\\r$`, 'im'))
    assert.match(head, new RegExp(`^etag: ${headers.get('etag')}\\r$`, 'im'))
    assert.match(head, /\r\n\r\n$/)
  },
  'POST stands for PATCH, by header and by form': async ({ ask }) => {
    const byHeader = { method: 'POST', headers: { ...json, 'x-http-method-override': 'PATCH' }, body: '{}' }
    assert.equal((await ask('/v1/documents/1', byHeader)).body, '{"method":"PATCH"}')
    const form = { method: 'POST', body: new URLSearchParams({ _method: 'PATCH', name: 'Eve' }) }
    assert.equal((await ask('/v1/documents/1', form)).body, '{"method":"PATCH"}')
  },
  'a key is run once, and its answer is replayed': async ({ ask }) => {
    const pay = (body) =>
      ask('/v1/payments', { method: 'POST', headers: { ...json, 'idempotency-key': '"one"' }, body })
    const first = await pay('{"amount":1}')
    const second = await pay('{"amount":1}')
    assert.deepEqual([first.status, second.status], [201, 201])
    assert.equal(second.body, first.body)
    assert.equal(second.headers.get('idempotent-replayed'), 'true')
    isProblem(await pay('{"amount":2}'), 422, 'idempotency-key-reused')
  },
  'the client follows an operation': async ({ origin }) => {
    const { followOperation } = await load('fastify-conventions/client')
    const operation = followOperation(await fetch(`${origin}/v1/jobs`, { method: 'POST' }))
    const { status, resource } = await operation.finished()
    assert.deepEqual([status, resource], ['Succeeded', `${origin}/v1/users/1`])
  },
  'a preflight gets its answer, and a page may read an error': async ({ ask }) => {
    const page = { origin: 'https://app.example' }
    const asking = { ...page, 'access-control-request-method': 'PATCH' }
    const preflight = await ask('/v1/users', { method: 'OPTIONS', headers: asking })
    assert.equal(preflight.status, 204)
    assert.match(preflight.headers.get('access-control-allow-methods'), /PATCH/)
    const { headers } = await ask('/nothing', { headers: page })
    assert.equal(headers.get('access-control-allow-origin'), 'https://app.example')
  },
  'a deprecated version says so, and a retired one is gone': async ({ ask }) => {
    const { headers } = await ask('/v1/users')
    assert.equal(headers.get('deprecation'), '@1735689600')
    assert.match(headers.get('link'), /rel="successor-version"/)
    isProblem(await ask('/v0/users'), 410, 'version-retired')
  },
  'a list is XML and CSV too': async ({ ask }) => {
    const csv = await ask('/v1/users?format=csv&fields=id,name')
    assert.match(csv.body, new RegExp(`^id,id_str,name\\r\\n.*\\r\\n${big + 1n},${big + 1n},Ada\\r\\n`))
    const xml = await ask('/v1/users', { headers: { accept: 'application/xml' } })
    assert.match(xml.body, new RegExp(`<user><id>${big}</id><id_str>${big}</id_str>`))
    isProblem(await ask('/v1/users?format=pdf'), 406, 'not-acceptable')
  },
}

const singlePlugins = {
  'pathGuard: a finding fails the boot': async () => {
    const app = await appWith('path-guard')
    app.get('/v1/Order/get_all', async () => ({}))
    const isFound = ({ code, message }) => code === 'FST_CONV_FINDINGS' && /pathGuard.uppercase/.test(message)
    await assert.rejects(async () => app.ready(), isFound)
  },
  'an option that is wrong fails the registration': async () => {
    await assert.rejects(async () => Fastify().register(conventions, { rateLimit: { max: -1 } }), /max/)
  },
  'rateLimit: a 429 with Retry-After': () =>
    alone('rate-limit', { max: 1 }, async ({ ask }) => {
      assert.equal((await ask('/v1/users')).status, 200)
      const refused = await ask('/v1/users')
      isProblem(refused, 429, 'quota-exceeded')
      assert.match(refused.headers.get('retry-after'), /^\d+$/)
    }),
  'bearer: tokens of an issuer, by its keys': async () => {
    const { testIssuer } = await load('fastify-conventions/testing')
    const issuer = await testIssuer()
    const app = await appWith('bearer', issuer.options)
    app.get('/v1/users', { config: { bearer: { scopes: ['users:read'] } } }, async ({ caller }) => ({
      subject: caller.subject,
    }))
    await serving(app, async ({ ask }) => {
      const by = async (options) => ({ headers: { authorization: `Bearer ${await issuer.token(options)}` } })
      const scopes = ['users:read']
      assert.equal((await ask('/v1/users', await by({ subject: 'ada', scopes }))).body, '{"subject":"ada"}')
      isProblem(await ask('/v1/users'), 401, 'unauthorized')
      isProblem(await ask('/v1/users', await by({ scopes, expiresIn: -60 })), 401, 'invalid-token')
      const refused = await ask('/v1/users', await by({}))
      isProblem(refused, 403, 'insufficient-scope')
      assert.match(refused.headers.get('www-authenticate'), /^Bearer .*scope="users:read"/)
    })
  },
  'xsrf: a request of a session needs its token': () =>
    alone('xsrf', { cookies: ['session'], secret: 's'.repeat(32) }, async ({ ask, origin }) => {
      const cookie = 'session=1'
      isProblem(await ask('/v1/users', { method: 'POST', headers: { cookie } }), 403, 'xsrf-token-invalid')
      isProblem(await ask('/v1/users', { headers: { cookie } }), 403, 'requested-with-missing')
      const read = await ask('/v1/users', { headers: { cookie, 'x-requested-with': 'XMLHttpRequest' } })
      const token = /^XSRF-TOKEN=([^;]*)/.exec(read.headers.getSetCookie().join())[1]
      const headers = { cookie, origin, 'x-xsrf-token': token }
      assert.equal((await ask('/v1/users', { method: 'POST', headers })).status, 200)
      const other = { method: 'POST', headers: { ...headers, cookie: 'session=2' } }
      isProblem(await ask('/v1/users', other), 403, 'xsrf-token-invalid')
    }),
  'httpsOnly: plain HTTP is refused': () =>
    alone('https-only', {}, async ({ ask }) => {
      isProblem(await ask('/v1/users'), 403, 'https-required')
      assert.equal((await ask('/v1/users', { headers: { 'x-forwarded-proto': 'https' } })).status, 200)
    }),
  'selfAlias: me is the caller': () =>
    alone('self-alias', { collections: ['users'], identify: () => 7 }, async ({ ask }) =>
      assert.equal((await ask('/v1/users/me')).body, '{"id":"7"}'),
    ),
  'maintenance: by a file': () => {
    const file = join(folder, 'maintenance')
    writeFileSync(file, JSON.stringify({ until: '9999-01-01T00:00:00Z' }))
    return alone('maintenance', { file }, async ({ ask }) => isProblem(await ask('/'), 503, 'maintenance'))
  },
  'the preset over HTTP/2': async () => {
    const { connect } = await import('node:http2')
    const app = Fastify({ ...serverOptions(), http2: true })
    await app.register(conventions)
    await serving(app, async ({ origin }) => {
      const session = connect(origin)
      try {
        const stream = session.request({ ':path': '/v1/Users' })
        const [headers] = await new Promise((resolve, reject) =>
          stream.on('response', (...received) => resolve(received)).on('error', reject),
        )
        assert.deepEqual([headers[':status'], headers['content-type']], [404, 'application/problem+json'])
      } finally {
        session.destroy()
      }
    })
  },
  'a request that does not arrive whole in time: 408 request-timeout': async () => {
    const http = { ...serverOptions().http, headersTimeout: 200, connectionsCheckingInterval: 50 }
    const app = Fastify({ ...serverOptions(), requestTimeout: 200, http })
    await app.register(conventions)
    app.post('/v1/users', async () => ({}))
    const head = `POST /v1/users HTTP/1.1\r\nHost: a\r\n${'Content-Type: application/json\r\nContent-Length: 9\r\n'}`
    await serving(app, async ({ port }) => {
      for (const part of ['POST /v1/us', head, `${head}\r\n{`]) {
        assert.match(await exchange(port, part), /^HTTP\/1\.1 408 [\s\S]*"code":"request-timeout"/, part)
      }
    })
  },
  'a request while the server closes: 503 server-closing': async () => {
    const app = Fastify(serverOptions())
    await app.register(conventions)
    let close
    app.addHook('preClose', async () => new Promise((resolve) => (close = resolve)))
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address()
    const response = new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        const closed = app.close()
        setImmediate(() => socket.write(request('GET', '/v1/users')))
        socket.once('data', (bytes) => {
          close()
          closed.then(() => resolve(String(bytes)))
        })
      })
    })
    assert.match(await response, /^HTTP\/1\.1 503 [\s\S]*"code":"server-closing"/)
  },
  'a request that runs ends before the app closes': async () => {
    const app = Fastify(serverOptions())
    await app.register(conventions)
    app.get('/v1/users', async () => {
      void app.close()
      await new Promise((resolve) => setTimeout(resolve, 100))
      return { users: [] }
    })
    await serving(app, async ({ port }) =>
      assert.match(await exchange(port, request('GET', '/v1/users')), /{"users":\[\]}$/),
    )
  },
  'a process ends by itself after its app has closed': async () => {
    const file = join(folder, `closes-${system}.mjs`)
    writeFileSync(
      file,
      `import Fastify from 'fastify'
import conventions from 'fastify-conventions'
const app = Fastify()
await app.register(conventions)
app.operations.define('jobs.run', async () => ({}))
await app.listen({ host: '127.0.0.1', port: 0 })
await app.close()
console.log('closed')
`,
    )
    assert.deepEqual(await runProgram(file), { code: 0, output: 'closed\n' })
  },
  'the program check finds what a route breaks': async () => {
    const file = join(folder, `app-${system}.mjs`)
    writeFileSync(file, "export default async (app, options) => void app.get('/v1/user', async () => ({}))\n")
    const { code, output } = await runProgram(program, 'check', file)
    assert.match(output, /GET \/v1\/user +pathGuard\.plural/)
    assert.equal(code, 1)
  },
  'probes find no fault in an app': async () => {
    const { assertConventions } = await load('fastify-conventions/testing')
    const app = await wholeService()
    await assertConventions(app, { params: () => 1, writes: true }).finally(() => app.close())
  },
}

/** With REDIS_URL: what instances share. */
const onRedis = {
  'the records of operations on Redis keep the contract of stores': async () => {
    const { redisOperationStore } = await load('fastify-conventions/stores/redis')
    const { operationStoreContract } = await load('fastify-conventions/testing')
    await withRedis(async (redis) => {
      let opened = 0
      const open = async () => {
        const keyPrefix = `${process.pid}-${opened++}:`
        return [1, 2].map(() => redisOperationStore(redis, { keyPrefix }))
      }
      for (const { name, run } of operationStoreContract({ open })) {
        await run().catch((cause) => assert.fail(`${name}: ${cause.stack}`))
      }
    })
  },
  'BullMQ runs an operation': async () => {
    const { redisOperationStore } = await load('fastify-conventions/stores/redis')
    const { bullmqEngine } = await load('fastify-conventions/engines/bullmq')
    await withRedis(async (redis) => {
      const engine = bullmqEngine({ redis: process.env.REDIS_URL })
      const app = await appWith('operations', { store: redisOperationStore(redis), engine })
      app.operations.define('jobs.run', async () => ({ result: { done: true } }))
      app.post('/v1/jobs', async (_request, reply) => reply.startOperation('jobs.run', {}))
      await serving(app, async ({ ask }) => {
        const { headers } = await ask('/v1/jobs', { method: 'POST' })
        const end = await until(
          () => ask(headers.get('location')),
          ({ body }) => !body.includes('In progress'),
        )
        assert.deepEqual(JSON.parse(end.body).result, { done: true })
      })
    })
  },
}

async function withRedis(use) {
  const { Redis } = await import('ioredis')
  const redis = new Redis(process.env.REDIS_URL, { lazyConnect: true })
  await redis.connect()
  await use(redis).finally(() => redis.disconnect())
}

/** Each subpath has the same exports in both module systems. */
async function subpathsAreThere() {
  const { exports } = require('fastify-conventions/package.json')
  for (const subpath of Object.keys(exports).filter((name) => !name.endsWith('.json'))) {
    const name = subpath.replace('.', 'fastify-conventions')
    const [imported, required] = [await import(name), require(name)].map((one) =>
      Object.keys(one).filter((key) => key !== 'default' && key !== 'module.exports' && key !== '__esModule'),
    )
    assert.deepEqual(imported.sort(), required.sort(), name)
  }
}

async function wholeService() {
  const app = Fastify(serverOptions())
  const deprecated = { deprecated: '2025-01-01', link: { successor: '/v2' } }
  await app.register(conventions, {
    cors: { origin: 'https://app.example' },
    formats: {},
    versions: { versions: { 0: { sunset: '2020-01-01' }, 1: deprecated } },
  })
  const rows = [big + 2n, big + 1n, big].map((id) => ({ id, name: 'Ada' }))
  app.get(
    '/v1/users',
    { schema: { response: { 200: users } }, config: { lists: { by: ['id'] }, formats: ['xml', 'csv'] } },
    async ({ page }, reply) => {
      const { beforeId = 2n ** 63n, afterId, fetch, includeTotal } = page
      const found =
        afterId === undefined
          ? rows.filter(({ id }) => id < beforeId)
          : rows.filter(({ id }) => id > afterId).toReversed()
      return reply.list(found.slice(0, fetch), includeTotal ? rows.length : undefined)
    },
  )
  const id = { type: 'object', properties: { id: user.properties.id } }
  app.get('/v1/users/:id', { schema: { params: id, response: { 200: user } } }, async ({ params }) => ({
    id: params.id,
    name: 'Ada',
    updated_at: '2026-01-01T00:00:00.000Z',
  }))
  const created = { type: 'object', properties: { id: user.properties.id, name: user.properties.name } }
  app.post('/v1/users', { schema: { body: created, response: { 200: created } } }, async ({ body }) => body)
  app.patch(
    '/v1/documents/:id',
    { config: { caching: { validators: async () => ({ version: 1 }) } } },
    async ({ method }) => ({ method }),
  )
  let payments = 0
  app.post('/v1/payments', async (_request, reply) => {
    payments++
    return reply.code(201).send({ id: payments })
  })
  app.operations.define('jobs.run', async ({ progress }) => {
    await progress(0.5)
    return { resource: '/v1/users/1' }
  })
  app.post('/v1/jobs', { config: { operations: { starts: 'jobs.run' } } }, async (_request, reply) =>
    reply.startOperation('jobs.run', {}),
  )
  app.get('/v1/failures', async () => Promise.reject(new Error('secret')))
  return app
}

/** An app with the plugin of a subpath alone. */
async function appWith(subpath, options = {}) {
  const name = subpath.replace(/-(.)/, (_, letter) => letter.toUpperCase())
  const { [name]: plugin } = await load(`fastify-conventions/${subpath}`)
  const app = Fastify({ ...serverOptions(), trustProxy: true })
  await app.register(plugin, options)
  return app
}

/** Serves the plugin of a subpath alone, with some routes. */
async function alone(subpath, options, use) {
  const app = await appWith(subpath, options)
  app.get('/v1/users', async () => ({}))
  app.post('/v1/users', async () => ({}))
  app.get('/v1/users/:id', async ({ params }) => ({ id: params.id }))
  await serving(app, use)
}

/** Lets an app listen on a free port, and closes it afterwards. */
async function serving(app, use) {
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address()
  try {
    await use({ app, origin, port, ask: (path, init) => ask(origin, path, init) })
  } finally {
    await app.close()
  }
}

async function ask(origin, path, init = {}) {
  const response = await fetch(new URL(path, origin), { redirect: 'manual', ...init })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

function isProblem({ status, headers, body }, expected, code) {
  assert.equal(status, expected, body)
  assert.equal(headers.get('content-type'), 'application/problem+json')
  const problem = JSON.parse(body)
  assert.deepEqual([problem.status, problem.code], [expected, code])
}

function request(method, target, headers = {}) {
  const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers })
  return `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** Checks of requests that `fetch` would not send; each gets a problem document. */
function refusals(rows) {
  return Object.fromEntries(
    rows.map(([what, bytes, status, code]) => [
      `${what}: ${status} ${code}`,
      async ({ port }) => {
        const received = await exchange(port, bytes)
        const [head, body] = received.split('\r\n\r\n')
        assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(head, /^content-type: application\/problem\+json\r?$/im)
        assert.equal(JSON.parse(body).code, code)
      },
    ]),
  )
}

/** Sends bytes, which `fetch` would not send, and returns all that comes back until the connection ends. */
function exchange(port, bytes) {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received += chunk
    })
    // A reset after the response is how some servers end a malformed request.
    socket.on('error', (error) => (received === '' ? reject(error) : resolve(received)))
    socket.on('close', () => resolve(received))
  })
}

async function until(get, isEnough) {
  while (true) {
    const value = await get()
    if (isEnough(value)) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Runs a program with this platform. */
function runProgram(...args) {
  const run = 'Deno' in globalThis ? ['run', '--allow-all'] : []
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...run, ...args], { cwd: folder }, (_error, out, errors) =>
      resolve({ code: child.exitCode, output: out + errors }),
    )
  })
}

const limit = 20_000

async function report(name, check) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${limit / 1000} s`)), limit)
  })
  const error = await Promise.race([check(), late]).then(
    () => null,
    (reason) => String(reason?.stack ?? reason),
  )
  clearTimeout(timer)
  console.log(JSON.stringify({ name, error }))
}

const { bun, deno, node } = process.versions
const platform = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node.js ${node}`
console.log(JSON.stringify({ platform, fastify: Fastify().version }))
await report('each subpath has the same exports in both module systems', subpathsAreThere)
const app = await wholeService()
await serving(app, async (service) => {
  for (const [name, check] of Object.entries(wholePreset)) await report(name, () => check(service))
})
const others = process.env.REDIS_URL === undefined ? singlePlugins : { ...singlePlugins, ...onRedis }
for (const [name, check] of Object.entries(others)) await report(name, check)
console.log(JSON.stringify({ end: true }))
process.exit()
