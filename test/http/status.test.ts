/** Reason phrases of RFC 9110 §15.5–15.6 and the later RFCs, and what is made of them. */
import t from 'tap'
import { reasonPhrases, statusCode, statusTitle } from '../../src/http/status.js'

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
