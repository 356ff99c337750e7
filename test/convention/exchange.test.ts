/** What conventions read of requests, replies, routes and contexts. */
import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import t from 'tap'
import { callerIdText, scopesOf, subjectOf } from '../../src/convention/caller.js'
import { basePathOf, hasVersion } from '../../src/convention/contexts.js'
import * as exchange from '../../src/convention/exchange.js'
import { declareValues, requestSlot, routeSlot } from '../../src/convention/slots.js'
import { isMisspelt } from '../../src/convention/unread-config.js'

t.test('each of several listeners hears each part of a body once, and its end', async (t) => {
  const payload = Readable.from([Buffer.from('{"id":'), Buffer.from('1}')])
  const heard = [0, 1, 2].map(() => {
    const parts: string[] = []
    const end = () => void parts.push('end')
    exchange.listenAlong(payload, { part: (part) => void parts.push(String(part)), end })
    return parts
  })
  const parsed: string[] = []
  payload.on('data', (part) => parsed.push(String(part)))
  await new Promise((resolve) => payload.once('end', resolve))
  t.strictSame(parsed, ['{"id":', '1}'])
  for (const parts of heard) t.strictSame(parts, [...parsed, 'end'])
})

const chunked = { 'transfer-encoding': 'chunked' }

t.test('the header section tells the length of a body, over HTTP/2 the stream does', async (t) => {
  const [ended, open] = [true, false].map((endAfterHeaders) => ({ endAfterHeaders }))
  for (const [headers, httpVersionMajor, stream, length] of [
    [{ 'content-length': '7' }, 1, undefined, 7],
    [{}, 1, undefined, 0],
    [chunked, 1, undefined, null],
    [{ 'content-length': '7' }, 2, open, 7],
    [{}, 2, open, null],
    [{}, 2, ended, 0],
  ] as const)
    t.equal(exchange.lengthOf({ headers, httpVersionMajor, stream } as never), length)
})

t.test('a request of HTTP/1.0 with Transfer-Encoding is framed faultily (RFC 9112 §6.1)', async (t) => {
  for (const [version, headers, isFaulty] of [
    ['1.0', chunked, true],
    ['1.0', {}, false],
    ['1.1', chunked, false],
    ['2.0', chunked, false],
  ] as const) {
    const [httpVersionMajor, httpVersionMinor] = version.split('.').map(Number)
    const raw = { headers, httpVersionMajor, httpVersionMinor }
    t.equal(exchange.isFramingFaulty({ raw } as never), isFaulty, version)
  }
})

t.test('a preflight is an OPTIONS with Origin and Access-Control-Request-Method (Fetch §4.8)', async (t) => {
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
  for (const [method, given, is] of [
    ['OPTIONS', headers, true],
    ['GET', headers, false],
    ['OPTIONS', { origin: headers.origin }, false],
    ['OPTIONS', { ...headers, origin: undefined }, false],
  ] as const) {
    t.equal(exchange.isPreflight({ raw: { method, headers: given } } as never), is)
  }
})

t.test('content that has a coding is not JSON to a parser (RFC 9110 §8.4)', async (t) => {
  for (const [method, coding, is] of [
    ['POST', 'gzip', true],
    ['POST', 'identity, GZIP', true],
    ['POST', ' Identity , ', false],
    ['POST', undefined, false],
    ...['GET', 'HEAD', 'OPTIONS', 'TRACE'].map((name) => [name, 'gzip', false] as const),
  ] as const) {
    const raw = { headers: { 'content-encoding': coding } }
    t.equal(exchange.isCoded({ method, raw } as never), is, `${method} ${coding}`)
  }
})

t.test('a payload is bytes or a text, or has no content', async (t) => {
  const stream = Readable.from(['text'])
  for (const [payload, isBytes, hasContent] of [
    ['text', true, true],
    ['', true, false],
    [new Uint8Array([1]), true, true],
    [null, false, false],
    [undefined, false, false],
    [stream, false, true],
  ] as const) {
    t.strictSame([exchange.isBytes(payload), exchange.hasContent(payload)], [isBytes, hasContent])
  }
  const cancelled: unknown[] = []
  const web = new ReadableStream({ cancel: (reason) => void cancelled.push(reason) })
  for (const payload of [null, 'text', { destroy: 'no function' }, stream, web]) exchange.discard(payload)
  t.strictSame([stream.destroyed, cancelled.length], [true, 1], 'one that is replaced is not read')
})

t.test('a refused handshake ends its connection', async (t) => {
  const app = Fastify()
  app.addHook('onRequest', async (request, reply) => exchange.endHandshake(request, reply))
  app.get('/', async () => 'no')
  const connectionOf = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/', headers })).headers.connection
  t.equal(await connectionOf({ upgrade: 'websocket' }), 'close')
  t.equal(await connectionOf({}), 'keep-alive')
  const response = new EventEmitter()
  const socket = { destroySoon: () => response.emit('destroyed') }
  const raw = { headers: { upgrade: 'websocket' }, socket }
  exchange.endHandshake({ raw } as never, { raw: response, header: () => {} } as never)
  const isDestroyed = once(response, 'destroyed')
  response.emit('finish')
  await isDestroyed
})

t.test('a body that no parser reads does not flow', async (t) => {
  const payload = Readable.from(['text'])
  const heard = (what: string) => () => t.fail(`${what} was heard`)
  exchange.listenAlong(payload, { part: heard('a part'), end: heard('the end') })
  await new Promise(setImmediate)
  t.equal(payload.readableFlowing, null)
})

t.test('the id of a caller is a text, an integer, or none', async (t) => {
  const texts = ['ada', 7, 2n ** 63n, null, undefined].map((id) => callerIdText(id, 'identify'))
  t.strictSame(texts, ['ada', '7', '9223372036854775808', null, null])
  for (const id of ['', '\ud800', 1.5, Number.NaN, true, {}])
    t.throws(() => callerIdText(id, 'identify'), { name: 'TypeError', message: /^identify: / })
})

t.test('a decorator of the app with the name `caller` is no caller', async (t) => {
  for (const [caller, subject, scopes] of [
    [{ subject: 'ada', scopes: ['read'] }, 'ada', ['read']],
    [{ subject: 7, scopes: 'read' }, null, null],
    [null, null, null],
    [undefined, null, null],
  ] as const) {
    t.strictSame([subjectOf({ caller } as never), scopesOf({ caller } as never)], [subject, scopes])
  }
})

t.test('the base path of a context ends before a major version', async (t) => {
  const below = { '/api//': '/api', '/api/v12/admin': '/api', '/api/v1x/admin': '/api/v1x/admin' }
  for (const [prefix, base] of Object.entries({ '': '', ...below, '/v1': '' }))
    t.equal(basePathOf({ prefix } as never), base, prefix)
  const versioned = ['', '/api', '/api/v1', '/api/v12', '/v1/admin', '/v1x'].map((prefix) =>
    hasVersion({ prefix } as never),
  )
  t.strictSame(versioned, [false, false, true, true, true, false])
})

t.test('a value of a route is visible to its requests only', async (t) => {
  const slot = routeSlot<string>('test.route')
  const app = Fastify()
  app.addHook('onRoute', (route) => {
    if (route.path === '/one') slot.set(route, 'one')
    if (route.path === '/two') t.equal(slot.get(route), undefined)
  })
  const config = {}
  for (const path of ['/one', '/two'])
    app.get(path, { config }, (request) => ({ value: slot.of(request) ?? null }))
  t.strictSame((await app.inject('/one')).json(), { value: 'one' })
  t.strictSame((await app.inject('/two')).json(), { value: null })
  t.strictSame(Object.getOwnPropertySymbols(config), [], 'the object of the app stays as it is')
})

t.test('each request has its own value, and setting it does not change the object’s shape', async (t) => {
  const slot = requestSlot<string>('test.shape')
  const app = Fastify()
  declareValues(app)
  app.get('/', (request) => {
    const before = Reflect.ownKeys(request)
    t.equal(slot.get(request), undefined)
    slot.set(request, 'set')
    t.strictSame(Reflect.ownKeys(request), before)
    return {}
  })
  for (let round = 0; round < 2; round++) await app.inject('/')
})

t.test('one or two letters make a misspelt name; in a short name one', async (t) => {
  const names = {
    idempotency: ['idempotancy idempotncey Idempotency', ''],
    rateLimit: ['rate-limit ratelimits', 'rateLimit limit'],
    lists: ['list lsits', 'listing lsitz'],
    cors: ['core', 'cost xcrs oxrs'],
  }
  for (const [name, [misspelt = '', others = '']] of Object.entries(names)) {
    for (const text of misspelt.split(' ')) t.ok(isMisspelt(text, name), `${text}, ${name}`)
    for (const text of others.split(' ')) t.notOk(isMisspelt(text, name), `${text}, ${name}`)
  }
})
