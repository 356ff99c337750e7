/** Reason phrases of RFC 9110 §15.5–15.6 and the later RFCs, and what is made of them. */
import { STATUS_CODES } from 'node:http'
import t from 'tap'
import { reasonPhrases, statusCode, statusTitle } from '../../src/http/status.js'

t.test('statuses with a phrase: phrase, code, title', async (t) => {
  for (const [status, phrase, code, title] of [
    [400, 'Bad Request', 'bad-request', 'Bad request'],
    [413, 'Content Too Large', 'content-too-large', 'Content too large'],
    [414, 'URI Too Long', 'uri-too-long', 'URI too long'],
    [451, 'Unavailable For Legal Reasons', 'unavailable-for-legal-reasons', 'Unavailable for legal reasons'],
    [505, 'HTTP Version Not Supported', 'http-version-not-supported', 'HTTP version not supported'],
  ] as const)
    t.strictSame([reasonPhrases[status], statusCode(status), statusTitle(status)], [phrase, code, title])
})

t.test('the phrases are those of Node.js, but for the names that RFC 9110 changed', async (t) => {
  const renamed = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
  const errors = Object.entries({ ...STATUS_CODES, ...renamed }).filter(([status]) => Number(status) >= 400)
  // Not in RFC 9110, nor in the RFCs of HTTP after it.
  const others = new Set(['418', '506', '508', '509', '510'])
  t.strictSame({ ...reasonPhrases }, Object.fromEntries(errors.filter(([status]) => !others.has(status))))
})

t.test('the title of a status without a phrase has its number', async (t) => {
  t.equal(statusCode(418), 'status-418')
  t.equal(statusTitle(599), 'Status 599')
})

t.test('every status from 400 to 599 has a code of its own, in lower-kebab', async (t) => {
  const codes = Array.from({ length: 200 }, (_, index) => statusCode(400 + index))
  t.equal(new Set(codes).size, 200)
  for (const code of codes) t.match(code, /^[a-z]+(-[a-z0-9]+)*$/)
})
