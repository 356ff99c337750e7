/** Answers as a store keeps them, and keys. */
import zlib from 'node:zlib'
import * as fc from 'fast-check'
import t from 'tap'
import { keptHeaders, readAnswer, uncoded, writeAnswer } from '../../../src/plugins/idempotency/answer.js'
import { readKey } from '../../../src/plugins/idempotency/request.js'

t.test('an answer is read as it was written, byte by byte', async (t) => {
  const body = fc.oneof(
    fc.constant(null),
    fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  )
  const headers = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.array(fc.string())), {
    noNullPrototype: true,
  })
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 599 }), headers, body, (status, headers, body) => {
      const read = readAnswer(writeAnswer({ status, headers, body }))
      t.equal(read.status, status)
      t.strictSame({ ...read.headers }, headers)
      return body === null ? read.body === null : Buffer.from(read.body ?? 'x').equals(Buffer.from(body))
    }),
  )
  for (const json of ['{}', '{"form":2,"status":200}']) t.throws(() => readAnswer(json), 'of another form')
})

t.test('header fields of connection, security, quotas and cookies are not of the answer', async (t) => {
  const ofEachResponse =
    'age via server deprecation sunset x-frame-options x-content-type-options referrer-policy ' +
    'permissions-policy x-download-options date connection set-cookie x-request-id idempotent-replayed ' +
    'strict-transport-security ratelimit ratelimit-policy x-ratelimit-limit ' +
    'access-control-allow-origin cross-origin-resource-policy proxy-authenticate keep-alive te trailer ' +
    'transfer-encoding upgrade alt-svc x-powered-by server-timing request-id x-correlation-id traceparent ' +
    'tracestate content-security-policy content-security-policy-report-only x-dns-prefetch-control ' +
    'x-permitted-cross-domain-policies x-xss-protection origin-agent-cluster reporting-endpoints report-to nel'
  const own = { 'content-type': 'text/csv', location: '/v1/x/1', etag: '"v1"', vary: ['accept', 'origin'] }
  const others = Object.fromEntries(ofEachResponse.split(' ').map((name) => [name, 'x']))
  const headers = { ...others, ...own, link: undefined, 'content-length': 12, 'x-version': 3 }
  t.strictSame(keptHeaders(headers), { ...own, 'x-version': '3' })
})

t.test('an answer is kept before its content coding, with its own tag', async (t) => {
  const { gzipSync, deflateSync, brotliCompressSync } = zlib
  const coders = { gzip: gzipSync, GZIP: gzipSync, deflate: deflateSync, br: brotliCompressSync }
  for (const [coding, code] of Object.entries(coders)) {
    const body = code('text')
    const headers = { 'content-encoding': coding, etag: `"v1--${coding}"`, vary: 'a' }
    const own = { status: 200, headers: { etag: '"v1"', vary: 'a' }, body: Buffer.from('text') }
    t.same(uncoded({ status: 200, headers, body }, 4), own)
    t.throws(() => uncoded({ status: 200, headers, body }, 3), coding)
    t.throws(() => uncoded({ status: 200, headers, body: 'text' }, 4), coding)
  }
  for (const coding of ['identity', 'zstd']) {
    const answer = { status: 200, headers: { 'content-encoding': coding }, body: 'text' }
    t.equal(uncoded(answer, 4), answer, coding)
  }
})

t.test('a key is a text in quotes with escapes, or a token without; other values are none', async (t) => {
  const uuid = '8e03978e-40d5-43e8-bc93-6894a57f9324'
  const long = 'x'.repeat(255)
  for (const [fieldValue, key] of [
    [`"${uuid}"`, uuid],
    [uuid, uuid],
    ['"a b, c;d"', 'a b, c;d'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    [long, long],
    [`"${long}"`, long],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ] as const)
    t.equal(readKey(fieldValue), key)
  for (const other of [
    ...['"a\\bc"', '', '""', '"', '"a', 'a"', 'a b', 'a, a', '"a", "a"', '"a";p=1', 'a;p=1', 'ä', '"ä"'],
    ...['"a\u0000"', '"a\tb"', `${long}x`, `"${long}x"`, `"${'\\"'.repeat(256)}"`],
  ])
    t.equal(readKey(other), null, other.slice(0, 40))
})
