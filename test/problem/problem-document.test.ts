/** RFC 9457 §3.1 (members of a problem document), §3.2 (extensions). */
import fc from 'fast-check'
import t from 'tap'
import {
  ProblemError,
  problemDocument,
  problemMediaType,
  serverFaultDetail,
} from '../../src/problem/problem-error.js'
import { defaultStyle } from '../../src/problem/send-problem.js'

const { typeBase: defaultTypeBase } = defaultStyle
const base = 'https://api.example/problems#'

t.test('the media type has no parameters (RFC 9457 §6.1), the default type base is a URN', async (t) => {
  t.equal(problemMediaType, 'application/problem+json')
  t.equal(new URL(`${defaultTypeBase}not-found`).protocol, 'urn:')
})

t.test('the members have a fixed order, and empty ones are left out', async (t) => {
  const error = new ProblemError('validation', {
    detail: 'the age is negative',
    errors: [{ in: 'body', pointer: '/age', message: 'must be >= 0' }],
  })
  t.equal(
    JSON.stringify(problemDocument(error, defaultTypeBase, 'req-7')),
    '{"type":"urn:problem-type:fastify-conventions:validation","title":"Invalid input","status":400,' +
      '"detail":"the age is negative","instance":"urn:request:req-7","code":"validation",' +
      '"errors":[{"in":"body","pointer":"/age","message":"must be >= 0"}]}',
  )
  t.strictSame(
    problemDocument(new ProblemError('not-found'), base),
    { type: `${base}not-found`, title: 'Not found', status: 404, detail: 'Not found', code: 'not-found' },
    'without request id no instance; without detail the title',
  )
})

t.test('extensions do not replace members of the document (RFC 9457 §3.2)', async (t) => {
  const errors = [{ in: 'query', name: 'limit', message: 'is negative' }] as const
  const members = ['type', 'title', 'status', 'detail', 'instance', 'code', 'errors']
  const extensions = { ...Object.fromEntries(members.map((name) => [name, 'x'])), state: 'succeeded' }
  t.strictSame(
    problemDocument(new ProblemError('not-retryable', { status: 409, extensions, errors }), base, 'r'),
    {
      state: 'succeeded',
      type: `${base}not-retryable`,
      title: 'Not retryable',
      status: 409,
      detail: 'Not retryable',
      instance: 'urn:request:r',
      code: 'not-retryable',
      errors,
    },
  )
})

t.test('the document of a 5xx has no cause; 5xx problems of the package keep their detail', async (t) => {
  const secret = 'connect ECONNREFUSED 10.0.0.7:5432'
  for (const [code, status, detail] of [
    ['internal-server-error', 500, serverFaultDetail],
    ['internal-server-error', 503, serverFaultDetail],
    ['bad-gateway', 502, serverFaultDetail],
    ['mine', 599, serverFaultDetail],
    ['server-closing', 503, secret],
    ['handler-timeout', 503, secret],
  ] as const) {
    const document = problemDocument(new ProblemError(code, { status, detail: secret }), base, 'r')
    t.equal(document.detail, detail, `${code} ${status}`)
    if (detail !== secret) t.notMatch(JSON.stringify(document), 'ECONNREFUSED')
  }
})

t.test('the instance is a URI with the request id', async () => {
  const occurrence = (id: string): string =>
    problemDocument(new ProblemError('not-found'), base, id).instance ?? ''
  const wellFormed = fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => id.isWellFormed())
  fc.assert(
    fc.property(wellFormed, (id) => {
      const uri = occurrence(id)
      return /^urn:request:[\x21-\x7e]+$/.test(uri) && decodeURIComponent(uri.slice(12)) === id
    }),
  )
  const units = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  fc.assert(fc.property(units, (id) => URL.canParse(occurrence(id))))
})
