/** Every 4xx and 5xx is a problem; the cause of a 5xx is for the log. */

import fc from 'fast-check'
import { errorCodes } from 'fastify'
import t from 'tap'
import {
  ProblemError,
  problemDocument,
  problemTypes,
  serverFaultDetail,
} from '../../src/problem/problem-error.js'
import { problemOf, problemOfBody } from '../../src/problem/problem-of.js'

type ErrorCode = keyof typeof errorCodes

const secret = 'SELECT * FROM users'

t.test('errors that Fastify throws: their status, a code, and a detail for clients', async (t) => {
  const rows: readonly (readonly [error: ErrorCode, code: keyof typeof problemTypes, detail?: RegExp])[] = [
    ['FST_ERR_NOT_FOUND', 'not-found'],
    ['FST_ERR_BAD_URL', 'uri-malformed', /percent sign/],
    ['FST_ERR_MAX_PARAM_LENGTH', 'uri-too-long', /^A segment of the path is too long$/],
    ['FST_ERR_CTP_BODY_TOO_LARGE', 'content-too-large'],
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported-media-type'],
    ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'request-malformed'],
    ['FST_ERR_CTP_EMPTY_JSON_BODY', 'body-malformed', /JSON/],
    ['FST_ERR_CTP_INVALID_JSON_BODY', 'body-malformed', /JSON in UTF-8/],
    ['FST_ERR_HANDLER_TIMEOUT', 'handler-timeout', /in time/],
  ]
  for (const [name, code, message = /./] of rows) {
    const { status: statusCode, title } = problemTypes[code]
    const thrown = new errorCodes[name]()
    const problem = problemOf(thrown)
    t.match(problem, { code, statusCode, title, message }, name)
    t.equal(problem.cause, thrown, `${name}: the log has it`)
  }
  for (const [name, FrameworkError] of Object.entries(errorCodes)) {
    const { statusCode = 500 } = new FrameworkError()
    t.equal(problemOf(new FrameworkError()).statusCode, statusCode < 400 ? 500 : statusCode, name)
  }
})

t.test('an error has its own code, or that of its status', async (t) => {
  type Row = readonly [thrown: unknown, soFar: number | undefined, status: number, code: string]
  const rows: readonly Row[] = [
    [new Error(secret), undefined, 500, 'internal-server-error'],
    [new Error('no'), 422, 422, 'unprocessable-content'],
    [new Error('no'), 302, 500, 'internal-server-error'],
    [{ statusCode: 409 }, undefined, 409, 'conflict'],
    [{ status: 403 }, undefined, 403, 'forbidden'],
    [{ statusCode: 409, status: 403 }, 401, 409, 'conflict'],
    [{ statusCode: 200, status: 403 }, undefined, 403, 'forbidden'],
    [{ statusCode: 418 }, undefined, 418, 'status-418'],
    [{ statusCode: 431 }, undefined, 431, 'header-fields-too-large'],
    ...[600, 400.5, '404'].map(
      (statusCode) => [{ statusCode }, undefined, 500, 'internal-server-error'] as const,
    ),
    [{ code: 'constructor', statusCode: 409 }, undefined, 409, 'constructor'],
    [{ code: Object.create(null), statusCode: 409 }, undefined, 409, 'conflict'],
    // Of a JSON parser as the docs of Fastify have it.
    [Object.assign(new SyntaxError('no'), { statusCode: 400 }), undefined, 400, 'body-malformed'],
    [Object.assign(new SyntaxError('no'), { statusCode: 409 }), undefined, 409, 'conflict'],
    [Object.assign(new SyntaxError('no'), { statusCode: 400, code: 'E' }), undefined, 400, 'e'],
    [new SyntaxError('no'), undefined, 500, 'internal-server-error'],
    [undefined, undefined, 500, 'internal-server-error'],
    [null, 404, 404, 'not-found'],
  ]
  for (const [thrown, soFar, statusCode, code] of rows) {
    t.match(problemOf(thrown, soFar), { statusCode, code }, JSON.stringify(thrown) ?? 'undefined')
  }
})

t.test('a thrown ProblemError is sent, also one of another copy of the package', async (t) => {
  const problem = new ProblemError('not-found', { detail: 'no user 42' })
  t.equal(problemOf(problem, 500), problem)
  const foreign = { [Symbol.for('fastify-conventions.problem')]: true, code: 'x', statusCode: 404 }
  t.equal(problemOf(foreign), foreign)
})

t.test('headers of a 4xx are sent, except those of the body; of a 5xx, only Retry-After', async (t) => {
  const sent = { Allow: 'GET', 'Retry-After': '5', 'www-authenticate': 'a,b' }
  const left = { 'Content-Type': 'text/html', connection: 'close', 'x-object': Object.create(null) }
  const headers = { ...sent, 'Retry-After': 5, 'www-authenticate': ['a', 'b'], ...left }
  t.strictSame(problemOf({ statusCode: 405, headers }).headers, sent)
  t.equal(problemOf({ statusCode: 405, headers: null }).headers, undefined)
  for (const statusCode of [500, 503])
    t.strictSame(problemOf({ statusCode, headers }).headers, { 'Retry-After': '5' }, `${statusCode}`)
  const own = new ProblemError('bad-gateway', { status: 502, headers: { 'x-a': '1' } })
  t.strictSame(problemOf(own).headers, { 'x-a': '1' }, 'a problem says itself what it sends')
})

t.test('faults of validation, with their places', async (t) => {
  const validation = [{ instancePath: '/age', keyword: 'minimum', message: 'must be >= 0' }]
  const thrown = { statusCode: 400, message: 'body/age must be >= 0', validation, validationContext: 'body' }
  const problem = problemOf(thrown)
  t.match(problem, { code: 'validation', statusCode: 400, message: 'body/age must be >= 0', cause: thrown })
  t.strictSame(problem.errors, [{ in: 'body', pointer: '/age', message: 'must be >= 0' }])
  t.equal(problemOf({ validation: [] }).statusCode, 400)
  t.equal(problemOf({ validation: [], statusCode: 422 }).statusCode, 422, 'a status of the consumer’s own')
  t.not(problemOf({ validation: 'no list' }).code, 'validation')
  for (const fault of [null, undefined, 'name is required', {}, []])
    t.equal(problemOf({ validation: [fault] }).statusCode, 400, `a fault of an unknown form: ${fault}`)
  const ofResponse = Object.assign(new Error('response/age'), { statusCode: 500, validation })
  t.match(problemOf(ofResponse), { code: 'internal-server-error', errors: undefined }, 'of a response')
  t.notMatch(JSON.stringify(problemDocument(problemOf(ofResponse), 'x:')), 'age')
})

t.test('any thrown value: a problem of 400–599 in valid JSON, without details for a 5xx', async () => {
  const thrown = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
    fc.record({ statusCode: fc.integer({ min: 390, max: 610 }), message: fc.constant(secret) }),
    fc.record({ code: fc.constantFrom(...Object.keys(errorCodes)), message: fc.constant(secret) }),
  )
  fc.assert(
    fc.property(thrown, fc.integer({ min: 100, max: 700 }), (value, soFar) => {
      const { statusCode, code } = problemOf(value, soFar)
      const body = JSON.stringify(problemDocument(problemOf(value, soFar), 'x:', 'r'))
      const isSilent = statusCode < 500 || !body.includes(secret)
      return statusCode >= 400 && statusCode <= 599 && /^[a-z]+(-[a-z0-9]+)*$/.test(code) && isSilent
    }),
    { numRuns: 1000 },
  )
})

const documentOf = (body: unknown, status = 409) => problemDocument(problemOfBody(status, body), 'x:')

t.test('an error body that a handler sends keeps its members', async (t) => {
  const body = { message: 'the name is taken', statusCode: 409, taken: 'ada', errors: ['name'] }
  const before = structuredClone(body)
  t.strictSame(documentOf(body), {
    taken: 'ada',
    errors: ['name'],
    type: 'x:conflict',
    title: 'Conflict',
    status: 409,
    detail: 'the name is taken',
    code: 'conflict',
  })
  t.same(body, before, 'the body stays as it is')
  t.match(documentOf({ code: 'name-taken', message: 'm' }), { code: 'name-taken', type: 'x:name-taken' })
  t.notOk('error' in documentOf({ statusCode: 409, error: 'Conflict', message: 'm' }))
})

t.test('the detail is that of the body, else its message; that stays if it says another thing', async (t) => {
  for (const [body, detail, message] of [
    [{ detail: 'd', message: 'm' }, 'd', 'm'],
    [{ message: { name: 'taken' } }, 'Conflict', { name: 'taken' }],
    [{ message: 'm' }, 'm', undefined],
    [{ detail: 'm', message: 'm' }, 'm', undefined],
    [{ detail: 'd' }, 'd', undefined],
    [{ title: 'Taken' }, 'Taken', undefined],
  ] as const) {
    const document = documentOf(body)
    t.strictSame([document.detail, Reflect.get(document, 'message')], [detail, message], JSON.stringify(body))
    t.equal('message' in document, message !== undefined)
  }
})

t.test('other bodies, and those of a 5xx, are not kept', async (t) => {
  for (const body of [undefined, null, '<html>', 42, ['a'], ''])
    t.match(documentOf(body, 404), { code: 'not-found', detail: 'Not found' })
  const document = documentOf({ message: secret, code: 'sql-failed', sql: secret }, 500)
  t.notMatch(JSON.stringify(document), secret)
  t.match(document, { detail: serverFaultDetail, code: 'internal-server-error' })
})

t.test('any JSON body and any error status: a problem with that status, in valid JSON', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 400, max: 599 }), fc.jsonValue(), (status, body) => {
      const document = JSON.parse(JSON.stringify(problemDocument(problemOfBody(status, body), 'x:', 'r')))
      return document.status === status && document.type === `x:${document.code}`
    }),
  )
})

t.test('a code of a handler is put in kebab case, or dropped', async (t) => {
  const rows: readonly (readonly [given: unknown, code: string])[] = [
    ['name-taken', 'name-taken'],
    ['E_NAME', 'e-name'],
    ['nameTaken', 'name-taken'],
    ['Name.Taken!', 'name-taken'],
    ['x'.repeat(100), 'x'.repeat(100)],
    ...['', '42', 'дубль', 'x'.repeat(101), 'A'.repeat(100_000), 42, {}].map(
      (no) => [no, 'conflict'] as const,
    ),
  ]
  for (const [given, code] of rows) {
    t.equal(problemOfBody(409, { code: given }).code, code, JSON.stringify(given).slice(0, 40))
  }
})

t.test('a long message is cut (it may name each item of the body)', async (t) => {
  const message = 'body/0 must be integer, '.repeat(10_000)
  const validation = [{ instancePath: '/0', message: 'must be integer' }]
  for (const thrown of [
    { statusCode: 409, message },
    { message, validation },
  ])
    t.equal(problemOf(thrown).message, `${message.slice(0, 1000)}…`)
  t.equal(problemOf({ statusCode: 409, message: 'x'.repeat(1000) }).message.length, 1000, 'the longest')
})
