/** RFC 9112 §2.1, §4 (message, status line): a problem for a connection without a request. */
import fc from 'fast-check'
import t from 'tap'
import { problemDocument, rawProblem } from '../../src/problem/problem-document.js'
import { ProblemError } from '../../src/problem/problem-error.js'

const date = new Date('1994-11-06T08:49:37.500Z')

t.test('the whole response, byte for byte, with no-store', async (t) => {
  const error = new ProblemError('request-malformed', {
    detail: 'The received bytes are not an HTTP/1.1 request',
  })
  const body =
    '{"type":"urn:x:request-malformed","title":"Malformed request","status":400,' +
    '"detail":"The received bytes are not an HTTP/1.1 request","code":"request-malformed"}'
  t.equal(
    rawProblem(problemDocument(error, 'urn:x:'), date),
    [
      'HTTP/1.1 400 Bad Request',
      'Date: Sun, 06 Nov 1994 08:49:37 GMT',
      'Connection: close',
      'Cache-Control: no-store',
      'Content-Type: application/problem+json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  )
})

t.test('the reason phrase is that of the status; without one the space stays (RFC 9112 §4)', async (t) => {
  const statusLine = (status: number): string | undefined =>
    rawProblem(problemDocument(new ProblemError('x', { status }), 'urn:x:'), date).split('\r\n')[0]
  t.equal(statusLine(408), 'HTTP/1.1 408 Request Timeout')
  t.equal(statusLine(431), 'HTTP/1.1 431 Request Header Fields Too Large')
  t.equal(statusLine(599), 'HTTP/1.1 599 ')
})

t.test('whatever the detail: one header section, and a body of Content-Length bytes', async () => {
  const units = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  const detail = fc.oneof(units, fc.string(), fc.constant('\r\n\r\nHTTP/1.1 200 OK\r\n'))
  fc.assert(
    fc.property(detail, (text) => {
      const document = problemDocument(new ProblemError('request-malformed', { detail: text }), 'urn:x:')
      const [head = '', body, ...more] = rawProblem(document, date).split('\r\n\r\n')
      const length = Number(/^Content-Length: (\d+)$/m.exec(head)?.[1])
      return (
        more.length === 0 &&
        head.split('\r\n').length === 6 &&
        length === Buffer.byteLength(body ?? '') &&
        JSON.parse(body ?? '').detail === text
      )
    }),
  )
})
