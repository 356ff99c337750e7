/** Together with the real `@fastify/compress`: a strong tag stands for the bytes that are sent (RFC 9110 §8.8.3.3). */
import { Readable } from 'node:stream'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { caching, problems } from '../../../src/index.js'
import { ask as askRaw, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const small = { id: 1, name: 'a'.repeat(100), updated_at: '2026-11-19T08:00:00Z' }
const big = { ...small, names: Array.from({ length: 50_000 }, (_, index) => `name ${index}`) }
const unzip = { gzip: gunzipSync, br: brotliDecompressSync } as const

/** How the two plugins are put together. */
interface Setup {
  readonly order: 'before' | 'after'
  readonly validators: boolean
}

async function appWith({ order, validators }: Setup): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  if (order === 'before') await app.register(compress, { threshold: 0 })
  await app.register(caching)
  if (order === 'after') await app.register(compress, { threshold: 0 })
  const config = validators ? { caching: { validators: async () => ({ version: '$&7$$' }) } } : {}
  app.get('/v1/small', { config }, () => small)
  app.get('/v1/big', { config }, () => big)
  app.get('/v1/stream', (_, reply) =>
    reply
      .type('application/json')
      .caching({ etag: 's$&1' })
      .send(Readable.from(['{"a":', '1}'])),
  )
  app.put('/v1/small', { config }, (request) => ({ expected: request.expectedVersion ?? null }))
  return app
}

function ask(port: number, method: string, url: string, headers: Readonly<Record<string, string>>) {
  return askRaw(port, requestBytes(method, url, headers))
}

t.test('identity, content that the handler coded, and a write do not change the tag', async (t) => {
  const app = await appWith({ order: 'before', validators: false })
  const coded = (coding: string, body: () => unknown) => (_: unknown, reply: FastifyReply) =>
    reply.header('content-encoding', coding).caching({ etag: 'a' }).send(body())
  const identity = { plain: () => '{}', streamed: () => Readable.from(['{}']) }
  for (const [path, body] of Object.entries(identity)) app.get(`/v1/${path}`, coded('identity', body))
  app.put('/v1/plain', (_, reply) => reply.caching({ etag: 'a' }).send(small))
  for (const url of ['/v1/plain', '/v1/streamed'])
    t.equal((await app.inject({ url, headers: { 'accept-encoding': 'identity' } })).headers.etag, '"a"', url)
  const headers = { 'accept-encoding': 'gzip' }
  // It names what is stored.
  const written = await app.inject({ method: 'PUT', url: '/v1/plain', headers })
  t.strictSame([written.headers['content-encoding'], written.headers.etag], ['gzip', '"a"'])
  const other = Fastify()
  await other.register(caching)
  const zipped = coded('gzip', () => 'zipped')
  other.get('/v1/zipped', zipped)
  t.equal((await other.inject('/v1/zipped')).headers.etag, '"a"')
})

for (const order of ['before', 'after'] as const) {
  for (const validators of [false, true]) {
    t.test(`registered ${order} caching, validators: ${validators}`, async (t) => {
      const { port } = await serve(t, await appWith({ order, validators }))
      await hasTagOfItsCoding(t, port, validators)
      await keepsCodingsApart(t, port)
      if (validators) await writes(t, port)
    })
  }
}

async function hasTagOfItsCoding(t: Test, port: number, validators: boolean): Promise<void> {
  for (const url of ['/v1/small', '/v1/big', '/v1/stream']) {
    const plain = await ask(port, 'GET', url, {})
    t.equal(plain.status, 200, url)
    t.match(plain.headers, { vary: 'accept-encoding' }, `${url}: Vary without a coding too`)
    t.notOk('content-encoding' in plain.headers)
    const etag = plain.headers.etag ?? ''
    if (url === '/v1/stream') t.equal(etag, '"s$&1"')
    else if (validators) t.equal(etag, '"$&7$$"')
    else t.match(etag, /^"[0-9a-z]{1,13}"$/)
    for (const coding of ['gzip', 'br'] as const) {
      const about = `${url} ${coding}`
      const coded = await ask(port, 'GET', url, { 'accept-encoding': coding })
      const mine = `${etag.slice(0, -1)}--${coding}"`
      const sent = [coded.status, coded.headers['content-encoding'], coded.headers.etag, coded.headers.vary]
      t.strictSame(sent, [200, coding, mine, 'accept-encoding'], about)
      t.ok(unzip[coding](coded.bytes).equals(plain.bytes), `${about}: the same once it is decoded`)
      for (const [ifNoneMatch, named] of [
        [mine, mine],
        [`W/${mine}`, mine],
        [etag, etag],
        ['*', etag],
      ] as const) {
        const headers = { 'accept-encoding': coding, 'if-none-match': ifNoneMatch }
        for (const method of url === '/v1/stream' ? ['GET'] : ['GET', 'HEAD']) {
          const again = await ask(port, method, url, headers)
          t.strictSame([again.status, again.body], [304, ''], `${method} ${about} ${ifNoneMatch}`)
          t.match(again.headers, { vary: 'accept-encoding', etag: named, 'cache-control': 'no-cache' }, about)
          t.notOk('content-encoding' in again.headers || 'content-length' in again.headers, about)
        }
      }
      t.equal((await ask(port, 'GET', url, { 'accept-encoding': coding, 'if-match': mine })).status, 200)
      const stale = await ask(port, 'GET', url, { 'accept-encoding': coding, 'if-match': '"x--gzip"' })
      t.equal(stale.status, 412, about)
      t.notOk('etag' in stale.headers)
      if (!validators) t.equal(stale.headers.vary, 'accept-encoding', `${about}: a 412 after the handler`)
    }
  }
}

async function keepsCodingsApart(t: Test, port: number): Promise<void> {
  const { etag = '' } = (await ask(port, 'GET', '/v1/small', { 'accept-encoding': 'gzip' })).headers
  for (const [acceptEncoding, status] of [
    ['br, gzip;q=0.5', 304],
    ['*', 304],
    ['identity', 200],
    ['gzip;q=0, br', 200],
    ['*;q=0', 200],
    ['*;q=0, GZIP', 304],
    ['', 200],
  ] as const) {
    const headers = { 'accept-encoding': acceptEncoding, 'if-none-match': etag }
    const { status: received } = await ask(port, 'GET', '/v1/small', headers)
    t.equal(received, status, `a cache has it in gzip, the caller takes ${acceptEncoding}`)
  }
  t.equal((await ask(port, 'GET', '/v1/small', { 'if-none-match': etag })).status, 200, 'takes no coding')
}

async function writes(t: Test, port: number): Promise<void> {
  const { etag = '' } = (await ask(port, 'GET', '/v1/small', { 'accept-encoding': 'br' })).headers
  for (const [ifMatch, status] of [
    [etag, 200],
    [`"x", ${etag}`, 200],
    ['"x--br"', 412],
    [`W/${etag}`, 412],
  ] as const) {
    const answer = await ask(port, 'PUT', '/v1/small', { 'if-match': ifMatch })
    t.equal(answer.status, status, `PUT with ${ifMatch}`)
    if (status === 200) t.match(answer.body, '$&7$$')
  }
}

t.test('a weak tag is valid for all codings; the Vary of the app is kept, and not repeated', async (t) => {
  const app = await appWith({ order: 'after', validators: false })
  const rows = [
    [{ etag: 'W/"a"' }, 'accept-encoding'],
    [{ vary: 'Origin' }, 'Origin, accept-encoding'],
    [{ vary: 'Accept, accept-encoding' }, 'Accept, accept-encoding'],
  ] as const
  app.get('/v1/own/:index', ({ url }, reply) =>
    reply.headers({ etag: 'W/"b"', ...rows[Number(url.slice(8))]?.[0] }).send(small),
  )
  for (const [index, [own, vary]] of rows.entries()) {
    const { headers } = await app.inject({ url: `/v1/own/${index}`, headers: { 'accept-encoding': 'gzip' } })
    const { etag } = { etag: 'W/"b"', ...own }
    t.strictSame([headers['content-encoding'], headers.etag, headers.vary], ['gzip', etag, vary])
  }
})

t.test('without a plugin that compresses there is no Vary: accept-encoding', async (t) => {
  const app = Fastify()
  await app.register(caching)
  app.get('/v1/small', () => small)
  await app.register(async (inner) => {
    await inner.register(compress, { threshold: 0 })
    inner.get('/v1/inner', () => small)
  })
  const headers = { 'accept-encoding': 'gzip' }
  t.notOk('vary' in (await app.inject({ url: '/v1/small', headers })).headers)
  const inner = await app.inject({ url: '/v1/inner', headers })
  t.match(inner.headers, { vary: 'accept-encoding', etag: /--gzip"$/, 'content-encoding': 'gzip' })
})
