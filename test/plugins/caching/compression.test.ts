/** Together with the real `@fastify/compress`: a strong tag stands for the bytes that are sent (RFC 9110 §8.8.3.3). */
import { Readable } from 'node:stream'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { caching, problems } from '../../../src/index.js'
import { appOf } from '../../support/app.js'

const small = { id: 1, name: 'a'.repeat(100), updated_at: '2026-11-19T08:00:00Z' }
const big = { ...small, names: Array.from({ length: 50_000 }, (_, index) => `name ${index}`) }
const unzip = { gzip: gunzipSync, br: brotliDecompressSync } as const

/** An app with the two plugins in either order. */
async function appWith(order: 'before' | 'after', validators = false) {
  const other = [compress, { threshold: 0 }] as const
  const app = await (order === 'before' ? appOf(problems, other, caching) : appOf(problems, caching, other))
  const config = validators ? { caching: { validators: async () => ({ version: '$&7$$' }) } } : {}
  app.get('/v1/small', { config }, () => small)
  app.get('/v1/big', { config }, () => big)
  const parts = () => Readable.from(['{"a":', '1}'])
  app.get('/v1/stream', (_, reply) => reply.type('application/json').caching({ etag: 's$&1' }).send(parts()))
  app.put('/v1/small', { config }, (request) => ({ expected: request.expectedVersion ?? null }))
  return app
}

type Method = 'GET' | 'HEAD' | 'PUT'

const ask = (app: FastifyInstance, method: Method, url: string, headers: Record<string, string>) =>
  app.inject({ method, url, headers })

t.test('identity, content that the handler coded, and a write do not change the tag', async (t) => {
  const app = await appWith('before')
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
  const other = await appOf(caching)
  const zipped = coded('gzip', () => 'zipped')
  other.get('/v1/zipped', zipped)
  t.equal((await other.inject('/v1/zipped')).headers.etag, '"a"')
})

for (const order of ['before', 'after'] as const) {
  for (const validators of [false, true]) {
    t.test(`registered ${order} caching, validators: ${validators}`, async (t) => {
      const app = await appWith(order, validators)
      await hasTagOfItsCoding(t, app, validators)
      await keepsCodingsApart(t, app)
      if (validators) await writes(t, app)
    })
  }
}

async function hasTagOfItsCoding(t: Test, app: FastifyInstance, validators: boolean): Promise<void> {
  for (const url of ['/v1/small', '/v1/big', '/v1/stream']) {
    const plain = await ask(app, 'GET', url, {})
    const uncoded = { vary: 'accept-encoding', 'content-encoding': undefined }
    t.match(plain, { statusCode: 200, headers: uncoded }, `${url}: Vary without a coding too`)
    const etag = String(plain.headers.etag)
    if (url === '/v1/stream') t.equal(etag, '"s$&1"')
    else t.match(etag, validators ? /^"\$&7\$\$"$/ : /^"[0-9a-z]{1,13}"$/)
    for (const coding of ['gzip', 'br'] as const) {
      const about = `${url} ${coding}`
      const coded = await ask(app, 'GET', url, { 'accept-encoding': coding })
      const mine = `${etag.slice(0, -1)}--${coding}"`
      const headers = { 'content-encoding': coding, etag: mine, vary: 'accept-encoding' }
      t.match(coded, { statusCode: 200, headers }, about)
      t.ok(unzip[coding](coded.rawPayload).equals(plain.rawPayload), `${about}: the same once it is decoded`)
      for (const [ifNoneMatch, named] of [
        [mine, mine],
        [`W/${mine}`, mine],
        [etag, etag],
        ['*', etag],
      ] as const) {
        const headers = { 'accept-encoding': coding, 'if-none-match': ifNoneMatch }
        for (const method of ['GET', 'HEAD'] as const) {
          const again = await ask(app, method, url, headers)
          t.match(again, { statusCode: 304, body: '' }, `${method} ${about} ${ifNoneMatch}`)
          t.match(again.headers, { vary: 'accept-encoding', etag: named, 'cache-control': 'no-cache' }, about)
          t.notOk('content-encoding' in again.headers || 'content-length' in again.headers, about)
        }
      }
      const asks = (tag: string) => ask(app, 'GET', url, { 'accept-encoding': coding, 'if-match': tag })
      t.equal((await asks(mine)).statusCode, 200)
      const stale = await asks('"x--gzip"')
      t.match(stale, { statusCode: 412, headers: { etag: undefined } }, about)
      if (!validators) t.equal(stale.headers.vary, 'accept-encoding', `${about}: a 412 after the handler`)
    }
  }
}

async function keepsCodingsApart(t: Test, app: FastifyInstance): Promise<void> {
  const etag = String((await ask(app, 'GET', '/v1/small', { 'accept-encoding': 'gzip' })).headers.etag)
  const [taken, others] = [
    ['br, gzip;q=0.5', '*', '*;q=0, GZIP'],
    ['identity', 'gzip;q=0, br', '*;q=0', ''],
  ]
  for (const acceptEncoding of [...taken, ...others]) {
    const status = taken.includes(acceptEncoding) ? 304 : 200
    const headers = { 'accept-encoding': acceptEncoding, 'if-none-match': etag }
    const { statusCode } = await ask(app, 'GET', '/v1/small', headers)
    t.equal(statusCode, status, `a cache has it in gzip, the caller takes ${acceptEncoding}`)
  }
  const uncoded = await ask(app, 'GET', '/v1/small', { 'if-none-match': etag })
  t.equal(uncoded.statusCode, 200, 'takes no coding')
}

async function writes(t: Test, app: FastifyInstance): Promise<void> {
  const etag = String((await ask(app, 'GET', '/v1/small', { 'accept-encoding': 'br' })).headers.etag)
  for (const [ifMatch, status] of [
    [etag, 200],
    [`"x", ${etag}`, 200],
    ['"x--br"', 412],
    [`W/${etag}`, 412],
  ] as const) {
    const answer = await ask(app, 'PUT', '/v1/small', { 'if-match': ifMatch })
    t.match(answer, { statusCode: status, ...(status === 200 && { body: '$&7$$' }) }, `PUT with ${ifMatch}`)
  }
}

t.test('a weak tag is valid for all codings; the Vary of the app is kept, and not repeated', async (t) => {
  const app = await appWith('after')
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
  const app = await appOf(caching)
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
