/** Answers as a store keeps them. */
import * as fc from 'fast-check'
import t from 'tap'
import {
  isKeptStatus,
  keptHeaders,
  readAnswer,
  writeAnswer,
} from '../../../src/plugins/idempotency/answer.js'

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
      const read = readAnswer(writeAnswer({ kind: 'sent', status, headers, body }))
      t.match(read, { kind: 'sent', status })
      t.strictSame('headers' in read ? { ...read.headers } : null, headers)
      const found = 'body' in read ? read.body : undefined
      return body === null ? found === null : Buffer.from(found ?? 'x').equals(Buffer.from(body))
    }),
  )
})

t.test('the payload of a handler keeps its digits', async (t) => {
  const payload = { id: 9007199254740993n, small: 5n, at: new Date(0), list: [1, null, 'x'], text: 'ü' }
  const read = readAnswer(
    writeAnswer({ kind: 'given', status: 201, headers: { location: '/v1/x/1' }, payload }),
  )
  t.strictSame(read, {
    kind: 'given',
    status: 201,
    headers: { location: '/v1/x/1' },
    payload: {
      id: 9007199254740993n,
      small: 5,
      at: '1970-01-01T00:00:00.000Z',
      list: [1, null, 'x'],
      text: 'ü',
    },
  })
  for (const payload of [undefined, null, 'text', 7]) {
    const again = readAnswer(writeAnswer({ kind: 'given', status: 200, headers: {}, payload }))
    t.strictSame('payload' in again ? again.payload : 'none', payload)
  }
})

t.test('a payload that is no JSON value throws', async (t) => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  for (const payload of [Buffer.from('x'), () => 1, circle, Symbol('x')]) {
    t.throws(() => writeAnswer({ kind: 'given', status: 200, headers: {}, payload }), TypeError)
  }
})

t.test('a record of another form throws', async (t) => {
  for (const json of [
    '{}',
    '{"form":2,"kind":"sent","status":200}',
    '{"form":1,"kind":"new","status":200}',
    'x',
  ]) {
    t.throws(() => readAnswer(json))
  }
})

t.test('a status is kept unless it says that nothing was carried out', async (t) => {
  const kept = [200, 201, 202, 204, 301, 303, 304, 402, 409, 410, 418, 422, 423, 424, 451]
  for (const status of kept) t.ok(isKeptStatus(status), String(status))
  const not = [100, 400, 401, 403, 404, 405, 406, 408, 412, 413, 414, 415, 428, 429, 431, 500, 502, 503]
  for (const status of not) t.notOk(isKeptStatus(status), String(status))
})

t.test(
  'header fields of the connection, of security, of quotas and cookies are not of the answer',
  async (t) => {
    const headers = {
      'content-type': 'application/json',
      location: '/v1/x/1',
      etag: '"v1"',
      link: undefined,
      'content-length': 12,
      'x-version': 3,
      vary: ['accept', 'origin'],
      date: 'x',
      'set-cookie': ['a=b'],
      ratelimit: 'x',
      'ratelimit-policy': 'x',
      'x-ratelimit-limit': '1',
      'access-control-allow-origin': '*',
      'strict-transport-security': 'x',
      'cross-origin-resource-policy': 'x',
      'x-request-id': 'x',
      'idempotent-replayed': 'true',
      connection: 'close',
    }
    t.strictSame(keptHeaders(headers), {
      'content-type': 'application/json',
      location: '/v1/x/1',
      etag: '"v1"',
      'x-version': '3',
      vary: ['accept', 'origin'],
    })
  },
)
