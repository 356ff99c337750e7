/** Reason phrases of RFC 9110 §15.5–15.6 and the later RFCs, and what is made of them. */
import t from 'tap'
import { reasonPhrases, statusCode, statusTitle } from '../../src/http/status.js'

const rows: readonly (readonly [status: number, phrase: string, code: string, title: string])[] = [
  [400, 'Bad Request', 'bad-request', 'Bad request'],
  [401, 'Unauthorized', 'unauthorized', 'Unauthorized'],
  [402, 'Payment Required', 'payment-required', 'Payment required'],
  [403, 'Forbidden', 'forbidden', 'Forbidden'],
  [404, 'Not Found', 'not-found', 'Not found'],
  [405, 'Method Not Allowed', 'method-not-allowed', 'Method not allowed'],
  [406, 'Not Acceptable', 'not-acceptable', 'Not acceptable'],
  [407, 'Proxy Authentication Required', 'proxy-authentication-required', 'Proxy authentication required'],
  [408, 'Request Timeout', 'request-timeout', 'Request timeout'],
  [409, 'Conflict', 'conflict', 'Conflict'],
  [410, 'Gone', 'gone', 'Gone'],
  [411, 'Length Required', 'length-required', 'Length required'],
  [412, 'Precondition Failed', 'precondition-failed', 'Precondition failed'],
  [413, 'Content Too Large', 'content-too-large', 'Content too large'],
  [414, 'URI Too Long', 'uri-too-long', 'URI too long'],
  [415, 'Unsupported Media Type', 'unsupported-media-type', 'Unsupported media type'],
  [416, 'Range Not Satisfiable', 'range-not-satisfiable', 'Range not satisfiable'],
  [417, 'Expectation Failed', 'expectation-failed', 'Expectation failed'],
  [421, 'Misdirected Request', 'misdirected-request', 'Misdirected request'],
  [422, 'Unprocessable Content', 'unprocessable-content', 'Unprocessable content'],
  [423, 'Locked', 'locked', 'Locked'],
  [424, 'Failed Dependency', 'failed-dependency', 'Failed dependency'],
  [425, 'Too Early', 'too-early', 'Too early'],
  [426, 'Upgrade Required', 'upgrade-required', 'Upgrade required'],
  [428, 'Precondition Required', 'precondition-required', 'Precondition required'],
  [429, 'Too Many Requests', 'too-many-requests', 'Too many requests'],
  [
    431,
    'Request Header Fields Too Large',
    'request-header-fields-too-large',
    'Request header fields too large',
  ],
  [451, 'Unavailable For Legal Reasons', 'unavailable-for-legal-reasons', 'Unavailable for legal reasons'],
  [500, 'Internal Server Error', 'internal-server-error', 'Internal server error'],
  [501, 'Not Implemented', 'not-implemented', 'Not implemented'],
  [502, 'Bad Gateway', 'bad-gateway', 'Bad gateway'],
  [503, 'Service Unavailable', 'service-unavailable', 'Service unavailable'],
  [504, 'Gateway Timeout', 'gateway-timeout', 'Gateway timeout'],
  [505, 'HTTP Version Not Supported', 'http-version-not-supported', 'HTTP version not supported'],
  [507, 'Insufficient Storage', 'insufficient-storage', 'Insufficient storage'],
  [
    511,
    'Network Authentication Required',
    'network-authentication-required',
    'Network authentication required',
  ],
]

t.test('every status with a phrase: phrase, code, title', async (t) => {
  for (const [status, phrase, code, title] of rows) {
    t.equal(reasonPhrases[status], phrase, `${status}`)
    t.equal(statusCode(status), code, `${status}`)
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
