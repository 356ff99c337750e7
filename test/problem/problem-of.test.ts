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
import { problemOf, problemOfBody, segmentTooLong } from '../../src/problem/problem-of.js'

type ErrorCode = keyof typeof errorCodes

const secret = 'SELECT * FROM users'

t.test('errors that Fastify throws', async (t) => {
  const rows: readonly (readonly [error: ErrorCode, code: keyof typeof problemTypes])[] = [
    ['FST_ERR_NOT_FOUND', 'not-found'],
    ['FST_ERR_BAD_URL', 'uri-malformed'],
    ['FST_ERR_MAX_PARAM_LENGTH', 'uri-too-long'],
    ['FST_ERR_CTP_BODY_TOO_LARGE', 'content-too-large'],
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported-media-type'],
    ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'request-malformed'],
    ['FST_ERR_CTP_EMPTY_JSON_BODY', 'body-malformed'],
    ['FST_ERR_CTP_INVALID_JSON_BODY', 'body-malformed'],
    ['FST_ERR_HANDLER_TIMEOUT', 'handler-timeout'],
  ]
  for (const [name, code] of rows) {
    const thrown = new errorCodes[name]()
    const problem = problemOf(thrown)
    t.match(problem, { code, statusCode: problemTypes[code].status, title: problemTypes[code].title }, name)
    t.equal(problem.statusCode, thrown.statusCode, `${name}: the status is the framework’s`)
    t.equal(problem.cause, thrown, `${name}: the log has it`)
  }
})

t.test('any error of Fastify keeps its status', async (t) => {
  for (const [name, FrameworkError] of Object.entries(errorCodes)) {
    const thrown = new FrameworkError()
    const problem = problemOf(thrown)
    const status = thrown.statusCode !== undefined && thrown.statusCode >= 400 ? thrown.statusCode : 500
    t.equal(problem.statusCode, status, name)
  }
})

t.test('errors of Fastify have a detail for clients', async (t) => {
  const tooLong = problemOf({
    code: 'FST_ERR_MAX_PARAM_LENGTH',
    statusCode: 414,
    message: "'/x' is exceeding",
  })
  t.equal(tooLong.message, segmentTooLong)
  t.match(problemOf({ code: 'FST_ERR_CTP_INVALID_JSON_BODY', statusCode: 400, message: 'x' }).message, /JSON/)
  t.match(problemOf({ code: 'FST_ERR_HANDLER_TIMEOUT', statusCode: 503, message: 'x' }).message, /in time/)
})

t.test('an error without a code has the code of its status', async (t) => {
  const rows: readonly (readonly [
    thrown: unknown,
    soFar: number | undefined,
    status: number,
    code: string,
  ])[] = [
    [new Error(secret), undefined, 500, 'internal-server-error'],
    [new Error('no'), 422, 422, 'unprocessable-content'],
    [new Error('no'), 200, 500, 'internal-server-error'],
    [new Error('no'), 302, 500, 'internal-server-error'],
    [{ statusCode: 404 }, undefined, 404, 'not-found'],
    [{ statusCode: 409 }, undefined, 409, 'conflict'],
    [{ status: 403 }, undefined, 403, 'forbidden'],
    [{ statusCode: 409, status: 403 }, 401, 409, 'conflict'],
    [{ statusCode: 200, status: 403 }, undefined, 403, 'forbidden'],
    [{ statusCode: 418 }, undefined, 418, 'status-418'],
    [{ statusCode: 431 }, undefined, 431, 'header-fields-too-large'],
    [{ statusCode: 503 }, undefined, 503, 'service-unavailable'],
    [{ statusCode: 600 }, undefined, 500, 'internal-server-error'],
    [{ statusCode: 400.5 }, undefined, 500, 'internal-server-error'],
    [{ statusCode: '404' }, undefined, 500, 'internal-server-error'],
    [{ code: 'constructor', statusCode: 409 }, undefined, 409, 'conflict'],
    [{ code: 'ECONNREFUSED' }, undefined, 500, 'internal-server-error'],
    ['text', undefined, 500, 'internal-server-error'],
    [undefined, undefined, 500, 'internal-server-error'],
    [null, 404, 404, 'not-found'],
  ]
  for (const [thrown, soFar, statusCode, code] of rows) {
    t.match(problemOf(thrown, soFar), { statusCode, code }, JSON.stringify(thrown) ?? 'undefined')
  }
})

t.test('a 4xx has the message of the error, a 5xx does not', async (t) => {
  const conflict = problemOf(Object.assign(new Error('the name is taken'), { statusCode: 409 }))
  t.match(problemDocument(conflict, 'x:'), { title: 'Conflict', detail: 'the name is taken' })
  for (const status of [500, 502, 503, 504, 599]) {
    const document = problemDocument(
      problemOf(Object.assign(new Error(secret), { statusCode: status })),
      'x:',
    )
    t.equal(document.detail, serverFaultDetail, `${status}`)
    t.notOk(JSON.stringify(document).includes(secret), `${status}`)
  }
})

t.test('a thrown ProblemError is sent, also one of another copy of the package', async (t) => {
  const problem = new ProblemError('not-found', { detail: 'no user 42' })
  t.equal(problemOf(problem, 500), problem)
  const foreign = { [Symbol.for('fastify-conventions.problem')]: true, code: 'x', statusCode: 404 }
  t.equal(problemOf(foreign), foreign)
})

t.test('headers of an error are sent, except Content-Type', async (t) => {
  const headers = {
    Allow: 'GET',
    'Retry-After': 5,
    'Content-Type': 'text/html',
    'www-authenticate': ['a', 'b'],
  }
  t.strictSame(problemOf({ statusCode: 405, headers }).headers, {
    Allow: 'GET',
    'Retry-After': '5',
    'www-authenticate': 'a,b',
  })
  t.equal(problemOf({ statusCode: 405, headers: null }).headers, undefined)
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

t.test('an error body that a handler sends keeps its members', async (t) => {
  const body = { message: 'the name is taken', statusCode: 409, taken: 'ada', errors: ['name'] }
  t.strictSame(problemDocument(problemOfBody(409, body), 'x:', 'r'), {
    taken: 'ada',
    errors: ['name'],
    type: 'x:conflict',
    title: 'Conflict',
    status: 409,
    detail: 'the name is taken',
    instance: 'urn:request:r',
    code: 'conflict',
  })
  t.same(body, { message: 'the name is taken', statusCode: 409, taken: 'ada', errors: ['name'] }, 'untouched')
})

t.test('other bodies, and those of a 5xx, are not kept', async (t) => {
  for (const body of [undefined, null, '<html>', 42, ['a'], '']) {
    t.match(problemDocument(problemOfBody(404, body), 'x:'), { code: 'not-found', detail: 'Not found' })
  }
  const document = problemDocument(problemOfBody(500, { message: secret, sql: secret }), 'x:')
  t.notOk(JSON.stringify(document).includes(secret))
  t.equal(document.detail, serverFaultDetail)
})

t.test('any JSON body and any error status: a problem with that status, in valid JSON', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 400, max: 599 }), fc.jsonValue(), (status, body) => {
      const document = JSON.parse(JSON.stringify(problemDocument(problemOfBody(status, body), 'x:', 'r')))
      return document.status === status && document.type === `x:${document.code}`
    }),
  )
})

t.test('an invalid response is a 500 without its cause', async (t) => {
  const validation = [{ instancePath: '/secret', keyword: 'type', message: 'must be string' }]
  const thrown = Object.assign(new Error('response/secret must be string'), { statusCode: 500, validation })
  t.equal(problemOf(thrown).code, 'internal-server-error')
  t.notMatch(JSON.stringify(problemDocument(problemOf(thrown), 'x:')), 'secret')
})

t.test('headers that frame or describe another body are not taken from an error (RFC 9112 §6)', async (t) => {
  const headers = {
    'Transfer-Encoding': 'chunked',
    'content-length': '5',
    connection: 'close',
    'content-encoding': 'gzip',
    'retry-after': 1,
    'x-object': Object.create(null),
  }
  t.same(problemOf({ statusCode: 404, headers }).headers, { 'retry-after': '1' })
})

t.test('faults of an unknown form never make a 4xx a 5xx', async (t) => {
  for (const validation of [[null], ['name is required'], [undefined], [{}], [[]]]) {
    t.equal(problemOf({ validation }).statusCode, 400)
  }
})

t.test('members of an error body that a handler sends are kept', async (t) => {
  const documentOf = (body: unknown) => problemDocument(problemOfBody(409, body), 'x:')
  t.equal(documentOf({ detail: 'the name is taken' }).detail, 'the name is taken')
  t.equal(documentOf({ code: 'name-taken', message: 'm' }).code, 'name-taken')
  t.notOk('error' in documentOf({ statusCode: 409, error: 'Conflict', message: 'm' }))
})

t.test('a code of a handler is put in kebab case, or dropped', async (t) => {
  const rows: readonly (readonly [given: unknown, code: string])[] = [
    ['name-taken', 'name-taken'],
    ['E_NAME', 'e-name'],
    ['NAME_TAKEN', 'name-taken'],
    ['nameTaken', 'name-taken'],
    ['name taken', 'name-taken'],
    ['Name.Taken!', 'name-taken'],
    ['', 'conflict'],
    ['42', 'conflict'],
    ['дубль', 'conflict'],
    ['x'.repeat(101), 'conflict'],
    ['A'.repeat(100_000), 'conflict'],
    [42, 'conflict'],
    [null, 'conflict'],
    [{ name: 'taken' }, 'conflict'],
  ]
  for (const [given, code] of rows) {
    t.equal(problemOfBody(409, { code: given }).code, code, JSON.stringify(given).slice(0, 40))
  }
})

t.test('message stays a member if the body has a detail', async (t) => {
  const documentOf = (body: unknown) => problemDocument(problemOfBody(409, body), 'x:')
  t.match(documentOf({ detail: 'd', message: 'm' }), { detail: 'd', message: 'm' })
  t.match(documentOf({ message: { name: 'taken' } }), { detail: 'Conflict', message: { name: 'taken' } })
  t.notOk('message' in documentOf({ message: 'm' }), 'it is the detail')
  t.notOk('message' in documentOf({ detail: 'm', message: 'm' }), 'it says the same')
  t.notOk('message' in documentOf({ detail: 'd' }))
})

t.test('a long message is cut (it may name each item of the body)', async (t) => {
  const message = 'body/0 must be integer, '.repeat(10_000)
  const validation = [{ instancePath: '/0', message: 'must be integer' }]
  for (const thrown of [
    { statusCode: 400, message, validation },
    { statusCode: 409, message },
    { message, validation },
  ]) {
    const { message: detail } = problemOf(thrown)
    t.equal(detail, `${message.slice(0, 1000)}…`)
  }
  t.equal(
    problemOf({ statusCode: 409, message: 'x'.repeat(1000) }).message.length,
    1000,
    'the longest that stays',
  )
})

t.test('of the headers of a 5xx, only Retry-After is sent', async (t) => {
  const headers = { 'x-internal-host': 'db1', 'set-cookie': 'a=b', 'Retry-After': 7, server: 'db' }
  for (const statusCode of [500, 502, 503]) {
    t.strictSame(problemOf({ statusCode, headers }).headers, { 'Retry-After': '7' }, `${statusCode}`)
  }
  const own = new ProblemError('bad-gateway', { status: 502, headers: { 'x-a': '1' } })
  t.strictSame(problemOf(own).headers, { 'x-a': '1' }, 'a problem says itself what it sends')
})
