/** What conventions read of requests and replies. */
import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import t from 'tap'
import * as exchange from '../../src/convention/exchange.js'

t.test('each of several listeners hears each part of a body once, and its end', async (t) => {
  const payload = Readable.from([Buffer.from('{"id":'), Buffer.from('1}')])
  const heard = [0, 1, 2].map(() => {
    const parts: string[] = []
    exchange.listenAlong(payload, {
      part: (part) => void parts.push(String(part)),
      end: () => void parts.push('end'),
    })
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
  const rows: readonly (readonly [
    headers: object,
    version: number,
    stream: unknown,
    length: number | null,
  ])[] = [
    [{ 'content-length': '7' }, 1, undefined, 7],
    [{}, 1, undefined, 0],
    [chunked, 1, undefined, null],
    [{ 'content-length': '7' }, 2, open, 7],
    [{}, 2, open, null],
    [{}, 2, ended, 0],
  ]
  for (const [headers, httpVersionMajor, stream, length] of rows)
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
  exchange.listenAlong(payload, {
    part: () => t.fail('a part was heard'),
    end: () => t.fail('the end was heard'),
  })
  await new Promise(setImmediate)
  t.equal(payload.readableFlowing, null)
})
