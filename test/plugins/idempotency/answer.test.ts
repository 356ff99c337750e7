/** Answers as a store keeps them. */
import * as fc from 'fast-check'
import t from 'tap'
import { isKept, keptHeaders, readAnswer, writeAnswer } from '../../../src/plugins/idempotency/answer.js'

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
})

t.test('a record of another form throws', async (t) => {
  for (const json of ['{}', '{"form":2,"status":200}', 'x']) t.throws(() => readAnswer(json))
})

t.test('a status is kept unless it says that nothing was carried out', async (t) => {
  const kept = [200, 204, 303, 402, 409, 410, 418, 422, 451]
  for (const status of kept) t.ok(isKept(status), String(status))
  const not = [100, 400, 401, 403, 404, 405, 406, 408, 412, 413, 414, 415, 428, 429, 431, 500, 502, 503]
  for (const status of not) t.notOk(isKept(status), String(status))
})

t.test('header fields of connection, security, quotas and cookies are not of the answer', async (t) => {
  const ofEachResponse = [
    ...[
      'date',
      'connection',
      'set-cookie',
      'x-request-id',
      'idempotent-replayed',
      'strict-transport-security',
    ],
    ...['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit', 'access-control-allow-origin'],
    'cross-origin-resource-policy',
  ]
  const headers = {
    'content-type': 'application/json',
    location: '/v1/x/1',
    etag: '"v1"',
    link: undefined,
    'content-length': 12,
    'x-version': 3,
    vary: ['accept', 'origin'],
    ...Object.fromEntries(ofEachResponse.map((name) => [name, 'x'])),
  }
  t.strictSame(keptHeaders(headers), {
    'content-type': 'application/json',
    location: '/v1/x/1',
    etag: '"v1"',
    'x-version': '3',
    vary: ['accept', 'origin'],
  })
})
