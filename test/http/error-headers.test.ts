/** RFC 9110 §5.1, §5.5 (fields), RFC 9112 §6 (framing): header fields that a problem takes over; §15.5–15.6: reason phrases. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { foreignFields, isField, isProblemField, replacedByProblem } from '../../src/http/error-headers.js'
import { reasonPhrases, statusCode, statusTitle } from '../../src/http/status.js'
import { inRuns } from '../support/property.js'

t.test('a field is written exactly where Node would write it (RFC 9110 §5.1, §5.5)', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'aZ9-_~ :\t\r\n\0\x7f\xe9\xff\u0100€😀'), maxLength: 5 })
  inRuns(1000, text, text, (name, value) => isField(name, value) === nodeWrites(name, value))
})

t.test('values are texts and numbers, or lists of them', async (t) => {
  for (const value of ['a', '', 5, ['a=1', 'b=2']]) t.ok(isField('x-a', value), String(value))
  for (const value of [['a', 'b\n'], null, undefined, {}]) t.notOk(isField('x-a', value), String(value))
})

t.test('fields that frame or describe a body are not sent with a problem (RFC 9112 §6)', async (t) => {
  for (const name of ['Content-Type', 'content-length', 'Content-Encoding', 'transfer-encoding', 'Trailer']) {
    t.notOk(isProblemField(name, '1'), name)
  }
  for (const name of ['Content-Range', 'Allow', 'Connection', 'Content-Security-Policy']) {
    t.ok(isProblemField(name, '1'), name)
  }
})

t.test('a problem replaces the fields about a representation (RFC 9110 §8, RFC 9530)', async (t) => {
  const ofContent = 'encoding language disposition range digest md5 length location'
  const others = 'repr-digest digest etag last-modified expires accept-ranges'
  const names = [...ofContent.split(' ').map((name) => `content-${name}`), ...others.split(' ')]
  t.strictSame(replacedByProblem.toSorted(), names.sort())
})

t.test('of an error of the app, a 4xx keeps its header fields, a 5xx only Retry-After', async (t) => {
  const headers = { Allow: 'GET', 'Retry-After': 5, connection: 'close', 'content-length': 1, 'x-a': {} }
  t.strictSame(foreignFields(headers, 405), { Allow: 'GET', 'Retry-After': '5' })
  t.strictSame(foreignFields(headers, 500), { 'Retry-After': '5' })
  for (const none of [undefined, null, 'x']) t.equal(foreignFields(none, 404), undefined)
})

function nodeWrites(name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

const phrases =
  '400 Bad Request, 401 Unauthorized, 402 Payment Required, 403 Forbidden, 404 Not Found, ' +
  '405 Method Not Allowed, 406 Not Acceptable, 407 Proxy Authentication Required, ' +
  '408 Request Timeout, 409 Conflict, 410 Gone, 411 Length Required, 412 Precondition Failed, ' +
  '413 Content Too Large, 414 URI Too Long, 415 Unsupported Media Type, 416 Range Not Satisfiable, ' +
  '417 Expectation Failed, 421 Misdirected Request, 422 Unprocessable Content, 423 Locked, ' +
  '424 Failed Dependency, 425 Too Early, 426 Upgrade Required, 428 Precondition Required, ' +
  '429 Too Many Requests, 431 Request Header Fields Too Large, 451 Unavailable For Legal Reasons, ' +
  '500 Internal Server Error, 501 Not Implemented, 502 Bad Gateway, 503 Service Unavailable, ' +
  '504 Gateway Timeout, 505 HTTP Version Not Supported, 507 Insufficient Storage, ' +
  '511 Network Authentication Required'

t.test('every status with a phrase: phrase, code, title', async (t) => {
  const found = Object.entries(reasonPhrases).map((one) => one.join(' '))
  t.equal(found.join(', '), phrases)
  for (const [status, phrase] of Object.entries(reasonPhrases)) {
    t.equal(statusCode(Number(status)), phrase.toLowerCase().replaceAll(' ', '-'))
    const [first = '', ...others] = phrase.split(' ')
    t.equal(statusTitle(Number(status)), [first, ...others.map((word) => word.toLowerCase())].join(' '))
  }
})

t.test('every status from 400 to 599 has a code of its own, in lower-kebab', async (t) => {
  const codes = Array.from({ length: 200 }, (_, index) => statusCode(400 + index))
  t.equal(new Set(codes).size, 200)
  t.ok(codes.every((code) => /^[a-z]+(-[a-z0-9]+)*$/.test(code)))
  t.strictSame([statusCode(418), statusTitle(599)], ['status-418', 'Status 599'], 'without a phrase')
})
