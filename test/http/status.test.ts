/** Reason phrases of RFC 9110 §15.5–15.6 and the later RFCs, and what is made of them. */
import t from 'tap'
import { reasonPhrases, statusCode, statusTitle } from '../../src/http/status.js'

const rows: readonly (readonly [status: number, phrase: string, title: string])[] = [
  [400, 'Bad Request', 'Bad request'],
  [401, 'Unauthorized', 'Unauthorized'],
  [402, 'Payment Required', 'Payment required'],
  [403, 'Forbidden', 'Forbidden'],
  [404, 'Not Found', 'Not found'],
  [405, 'Method Not Allowed', 'Method not allowed'],
  [406, 'Not Acceptable', 'Not acceptable'],
  [407, 'Proxy Authentication Required', 'Proxy authentication required'],
  [408, 'Request Timeout', 'Request timeout'],
  [409, 'Conflict', 'Conflict'],
  [410, 'Gone', 'Gone'],
  [411, 'Length Required', 'Length required'],
  [412, 'Precondition Failed', 'Precondition failed'],
  [413, 'Content Too Large', 'Content too large'],
  [414, 'URI Too Long', 'URI too long'],
  [415, 'Unsupported Media Type', 'Unsupported media type'],
  [416, 'Range Not Satisfiable', 'Range not satisfiable'],
  [417, 'Expectation Failed', 'Expectation failed'],
  [421, 'Misdirected Request', 'Misdirected request'],
  [422, 'Unprocessable Content', 'Unprocessable content'],
  [423, 'Locked', 'Locked'],
  [424, 'Failed Dependency', 'Failed dependency'],
  [425, 'Too Early', 'Too early'],
  [426, 'Upgrade Required', 'Upgrade required'],
  [428, 'Precondition Required', 'Precondition required'],
  [429, 'Too Many Requests', 'Too many requests'],
  [431, 'Request Header Fields Too Large', 'Request header fields too large'],
  [451, 'Unavailable For Legal Reasons', 'Unavailable for legal reasons'],
  [500, 'Internal Server Error', 'Internal server error'],
  [501, 'Not Implemented', 'Not implemented'],
  [502, 'Bad Gateway', 'Bad gateway'],
  [503, 'Service Unavailable', 'Service unavailable'],
  [504, 'Gateway Timeout', 'Gateway timeout'],
  [505, 'HTTP Version Not Supported', 'HTTP version not supported'],
  [507, 'Insufficient Storage', 'Insufficient storage'],
  [511, 'Network Authentication Required', 'Network authentication required'],
]

t.test('every status with a phrase: phrase, code, title', async (t) => {
  for (const [status, phrase, title] of rows) {
    t.equal(reasonPhrases[status], phrase, `${status}`)
    t.equal(statusCode(status), phrase.toLowerCase().replaceAll(' ', '-'), `${status}`)
    t.equal(statusTitle(status), title, `${status}`)
  }
  t.same(
    Object.keys(reasonPhrases).map(Number),
    rows.map(([status]) => status),
    'and no other',
  )
})

t.test('the title of a status without a phrase has its number', async (t) => {
  t.equal(statusCode(418), 'status-418')
  t.equal(statusTitle(599), 'Status 599')
})

t.test('every status from 400 to 599 has a code of its own, in lower-kebab', async (t) => {
  const codes = Array.from({ length: 200 }, (_, index) => statusCode(400 + index))
  t.equal(new Set(codes).size, 200)
  t.same(
    codes.filter((code) => !/^[a-z]+(-[a-z0-9]+)*$/.test(code)),
    [],
  )
})
