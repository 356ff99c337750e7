/** RFC 9457 §3.1 (members of a problem document), §3.2 (extensions). */
import fc from 'fast-check'
import t from 'tap'
import {
  ProblemError,
  problemDocument,
  problemMediaType,
  problemTypes,
  serverFaultDetail,
} from '../../src/problem/problem-error.js'
import { defaultStyle } from '../../src/problem/send-problem.js'

const { typeBase: defaultTypeBase } = defaultStyle
const base = 'https://api.example/problems#'

t.test('the media type has no parameters (RFC 9457 §6.1), the default type base is a URN', async (t) => {
  t.equal(problemMediaType, 'application/problem+json')
  t.equal(new URL(`${defaultTypeBase}not-found`).protocol, 'urn:')
})

t.test('every code of the registry: type, title and status are those of the code', async (t) => {
  for (const [code, { status, title }] of Object.entries(problemTypes)) {
    const document = problemDocument(new ProblemError(code, { detail: 'this time' }), base, 'req-1')
    t.match(document, { type: base + code, title, status, code, instance: 'urn:request:req-1' }, code)
  }
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

t.test('a problem with a code of the app', async (t) => {
  const error = new ProblemError('not-retryable', { status: 409, extensions: { state: 'succeeded' } })
  t.strictSame(problemDocument(error, base, 'r'), {
    state: 'succeeded',
    type: `${base}not-retryable`,
    title: 'Not retryable',
    status: 409,
    detail: 'Not retryable',
    instance: 'urn:request:r',
    code: 'not-retryable',
  })
})

t.test('extensions do not replace members of the document (RFC 9457 §3.2)', async (t) => {
  const extensions = {
    type: 'x',
    title: 'x',
    status: 1,
    detail: 'x',
    instance: 'x',
    code: 'x',
    errors: ['x'],
    balance: 30,
  }
  const errors = [{ in: 'query', name: 'limit', message: 'is negative' }] as const
  const document = problemDocument(new ProblemError('validation', { extensions, errors }), base, 'r')
  t.same(document, { ...problemDocument(new ProblemError('validation', { errors }), base, 'r'), balance: 30 })
})

t.test('the document of a 5xx has no cause', async (t) => {
  const secret = 'connect ECONNREFUSED 10.0.0.7:5432'
  for (const [code, status] of [
    ['internal-server-error', 500],
    ['internal-server-error', 503],
    ['bad-gateway', 502],
    ['mine', 599],
  ] as const) {
    const document = problemDocument(new ProblemError(code, { status, detail: secret }), base, 'r')
    t.equal(document.detail, serverFaultDetail, `${code} ${status}`)
    t.notMatch(JSON.stringify(document), 'ECONNREFUSED')
  }
})

t.test('5xx problems of the package keep their detail', async (t) => {
  for (const code of ['server-closing', 'handler-timeout'] as const) {
    const document = problemDocument(new ProblemError(code, { detail: 'for the client' }), base)
    t.equal(document.detail, 'for the client', code)
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

t.test('a document is valid JSON, whatever the detail and the extensions are', async () => {
  const extensions = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(fc.string(), extensions, (detail, members) => {
      const error = new ProblemError('not-found', { detail, extensions: members })
      const parsed = JSON.parse(JSON.stringify(problemDocument(error, base, 'r')))
      return parsed.detail === detail && parsed.status === 404 && parsed.type === `${base}not-found`
    }),
  )
})
