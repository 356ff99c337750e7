/** Every 4xx and 5xx is a problem; the cause of a 5xx is for the log. The `errors` of a validation problem (RFC 6901). */
import fc from 'fast-check'
import { errorCodes } from 'fastify'
import t from 'tap'
import { boundedIssues, IssueList, isDefaultMessage, validationIssues } from '../../src/problem/issues.js'
import {
  ProblemError,
  type ProblemIssue,
  problemDocument,
  problemTypes,
  serverFaultDetail,
} from '../../src/problem/problem-error.js'
import { problemOf, problemOfBody } from '../../src/problem/problem-of.js'
import { forAll, inRuns } from '../support/property.js'

const secret = 'SELECT * FROM users'

t.test('errors that Fastify throws: their status, a code, and a detail for clients', async (t) => {
  for (const [name, code, message = /./] of [
    ['FST_ERR_NOT_FOUND', 'not-found'],
    ['FST_ERR_BAD_URL', 'uri-malformed', /percent sign/],
    ['FST_ERR_MAX_PARAM_LENGTH', 'uri-too-long', /^A segment of the path is too long$/],
    ['FST_ERR_CTP_BODY_TOO_LARGE', 'content-too-large'],
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported-media-type'],
    ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'request-malformed'],
    ['FST_ERR_CTP_EMPTY_JSON_BODY', 'body-malformed', /JSON/],
    ['FST_ERR_CTP_INVALID_JSON_BODY', 'body-malformed', /JSON in UTF-8/],
    ['FST_ERR_HANDLER_TIMEOUT', 'handler-timeout', /in time/],
  ] as const) {
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
  const fault = [500, 'internal-server-error'] as const
  for (const [thrown, soFar, statusCode, code] of [
    [new Error(secret), undefined, ...fault],
    [new Error('no'), 422, 422, 'unprocessable-content'],
    [new Error('no'), 302, ...fault],
    [{ statusCode: 409 }, undefined, 409, 'conflict'],
    [{ status: 403 }, undefined, 403, 'forbidden'],
    [{ statusCode: 409, status: 403 }, 401, 409, 'conflict'],
    [{ statusCode: 200, status: 403 }, undefined, 403, 'forbidden'],
    [{ statusCode: 418 }, undefined, 418, 'status-418'],
    [{ statusCode: 431 }, undefined, 431, 'header-fields-too-large'],
    ...[600, 400.5, '404'].map((statusCode) => [{ statusCode }, undefined, ...fault] as const),
    [{ code: 'constructor', statusCode: 409 }, undefined, 409, 'constructor'],
    [{ code: Object.create(null), statusCode: 409 }, undefined, 409, 'conflict'],
    // Of a JSON parser as the docs of Fastify have it.
    [Object.assign(new SyntaxError('no'), { statusCode: 400 }), undefined, 400, 'body-malformed'],
    [Object.assign(new SyntaxError('no'), { statusCode: 409 }), undefined, 409, 'conflict'],
    [Object.assign(new SyntaxError('no'), { statusCode: 400, code: 'E' }), undefined, 400, 'e'],
    [new SyntaxError('no'), undefined, ...fault],
    [undefined, undefined, ...fault],
    [null, 404, 404, 'not-found'],
  ] as const)
    t.match(problemOf(thrown, soFar), { statusCode, code }, JSON.stringify(thrown) ?? 'undefined')
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
  inRuns(1000, thrown, fc.integer({ min: 100, max: 700 }), (value, soFar) => {
    const { statusCode, code } = problemOf(value, soFar)
    const body = JSON.stringify(problemDocument(problemOf(value, soFar), 'x:', 'r'))
    const isSilent = statusCode < 500 || !body.includes(secret)
    return statusCode >= 400 && statusCode <= 599 && /^[a-z]+(-[a-z0-9]+)*$/.test(code) && isSilent
  })
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
  forAll(fc.integer({ min: 400, max: 599 }), fc.jsonValue(), (status, body) => {
    const document = JSON.parse(JSON.stringify(problemDocument(problemOfBody(status, body), 'x:', 'r')))
    return document.status === status && document.type === `x:${document.code}`
  })
})

t.test('a code of a handler is put in kebab case, or dropped', async (t) => {
  const codeOf = (code: unknown) => problemOfBody(409, { code }).code
  t.equal(codeOf('E_NAME'), 'e-name')
  for (const given of ['name-taken', 'nameTaken', 'Name.Taken!']) t.equal(codeOf(given), 'name-taken', given)
  t.equal(codeOf('x'.repeat(100)), 'x'.repeat(100))
  for (const no of ['', '42', 'дубль', 'x'.repeat(101), 42, {}]) t.equal(codeOf(no), 'conflict', String(no))
})

t.test('a long message is cut (it may name each item of the body)', async (t) => {
  const message = 'body/0 must be integer, '.repeat(10_000)
  const validation = [{ instancePath: '/0', message: 'must be integer' }]
  const cut = `${message.slice(0, 1000)}…`
  t.equal(problemOf({ statusCode: 409, message }).message, cut)
  t.equal(problemOf({ message, validation }).message, cut)
  t.equal(problemOf({ statusCode: 409, message: 'x'.repeat(1000) }).message.length, 1000, 'the longest')
})

const issue = (pointer: string, message = 'is wrong'): ProblemIssue => ({ in: 'body', pointer, message })
const at = (instancePath: string) => ({ instancePath, keyword: 'format', message: 'is wrong' })
const faultOf = (keyword: string, instancePath: string, params: object) => {
  return { instancePath, keyword, message: 'of the validator', params }
}
const missing = (path: string, missingProperty: string) => faultOf('required', path, { missingProperty })
const unknown = (path: string, additionalProperty: string) =>
  faultOf('additionalProperties', path, { additionalProperty })
const oneOf = (path: string, allowedValues: readonly unknown[]) => faultOf('enum', path, { allowedValues })

t.test('faults of a body have a JSON Pointer (RFC 6901)', async (t) => {
  const pattern = { keyword: 'pattern', message: 'must match "^[A-Z]+$"', params: { pattern: '^[A-Z]+$' } }
  const params = { unevaluatedProperty: 'x' }
  const letters = Array.from('abcdefghijklmnopqrst').join(', ')
  for (const [fault, pointer, message] of [
    [{ instancePath: '', message: 'must be object' }, '', 'must be object'],
    [{ instancePath: '/items/0/sku', message: 'must be string' }, '/items/0/sku', 'must be string'],
    [missing('', 'name'), '/name', 'is required'],
    [missing('', 'a/b~c'), '/a~1b~0c', 'is required'],
    [missing('', ''), '/', 'is required'],
    [unknown('', 'extra'), '/extra', 'is not known here'],
    [unknown('/address', 'zip'), '/address/zip', 'is not known here'],
    [{ instancePath: '', keyword: 'unevaluatedProperties', params }, '/x', 'is not known here'],
    [oneOf('/status', ['pending', 'paid', 3]), '/status', 'must be one of pending, paid, 3'],
    [oneOf('', [{ a: 2n ** 60n }, 'b']), '', 'must be one of {"a":1152921504606846976}, b'],
    [oneOf('', Array.from('abcdefghijklmnopqrstu')), '', `must be one of ${letters}`],
    [{ keyword: 'const', params: { allowedValue: 'v1' } }, '', 'must be v1'],
    [{ ...pattern, instancePath: '/sku' }, '/sku', 'must match the required pattern'],
    [{ instancePath: '/tags', message: 'too long', propertyName: 'a/b' }, '/tags/a~1b', 'too long'],
    [{ instancePath: '/tags', message: 'too long', params: { propertyName: 'a' } }, '/tags/a', 'too long'],
    [{ keyword: 'enum', message: 'must be equal', params: {} }, '', 'must be equal'],
    [{ message: 'must be right', params: { allowedValues: ['a'] } }, '', 'must be right'],
    [{ message: 'must be short', params: { pattern: '^a$' } }, '', 'must be short'],
    [{ keyword: 'false schema' }, '', 'is invalid'],
    [{ instancePath: 7, message: 7 }, '', 'is invalid'],
    ['a text of another validator', '', 'a text of another validator'],
  ] as const)
    t.strictSame(validationIssues([fault], 'body'), [{ in: 'body', pointer, message }], message)
})

t.test('a fault of TypeBox may name several members; one as a schema `false` repeats another', async (t) => {
  for (const name of ['requiredProperties', 'additionalProperties', 'unevaluatedProperties']) {
    const fault = { instancePath: '/x', message: 'is wrong', params: { [name]: ['a', 7, 'b'] } }
    t.strictSame(validationIssues([fault, { keyword: 'boolean' }], 'body'), [issue('/x/a'), issue('/x/b')])
  }
})

t.test('the message that Fastify makes of faults is known', async (t) => {
  const fault = { instancePath: '/age', message: 'must be >= 0' }
  for (const message of ['body/age must be >= 0', 'body/age must be >= 0, body must be object'])
    t.equal(isDefaultMessage(message, [fault], 'body'), true)
  t.equal(isDefaultMessage(' must be >= 0', [{ message: 'must be >= 0' }]), true)
  t.equal(isDefaultMessage('not body/age must be >= 0', [fault], 'body'), false)
})

t.test('faults of other parts have the name of the parameter or field', async (t) => {
  for (const [part, fault, place] of [
    ['params', at('/id'), 'path id is wrong'],
    ['headers', missing('', 'x-a'), 'header x-a is required'],
    ['querystring', at('/ids/0'), 'query ids is wrong'],
    ['querystring', unknown('', 'a/b'), 'query a/b is not known here'],
    ['querystring', at('/~01'), 'query ~1 is wrong'],
  ] as const) {
    const [issue] = validationIssues([fault], part)
    t.equal(issue?.in === 'body' ? '' : `${issue?.in} ${issue?.name} ${issue?.message}`, place)
  }
})

t.test('an unknown part counts as the body', async (t) => {
  for (const part of [undefined, '', 'response', 'constructor', '__proto__'])
    t.strictSame(validationIssues([at('/x')], part), [issue('/x')], String(part))
})

t.test('any member name: the pointer leads to it (RFC 6901 §4), the name is it', async () => {
  forAll(fc.string({ unit: 'grapheme' }), (member) => {
    const [inBody] = validationIssues([missing('', member)], 'body')
    const [inQuery] = validationIssues([missing('', member)], 'querystring')
    const found = resolve({ [member]: 'found' }, inBody?.in === 'body' ? inBody.pointer : 'none')
    return found === 'found' && inQuery?.in === 'query' && inQuery.name === member
  })
})

/** The value at a JSON Pointer, read as RFC 6901 §4 says. */
function resolve(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'))
    .reduce((whole, name) => new Map(Object.entries(whole as object)).get(name), value)
}

t.test('50 issues of ordinary length are kept as they are, and no more', async (t) => {
  const given = Array.from({ length: 60 }, (_, index) => issue(`/items/${index}/quantity`, 'x'.repeat(100)))
  t.strictSame(boundedIssues(given), given.slice(0, 50))
  t.strictSame(boundedIssues([{ ...issue('/a'), extra: 7 } as never]), [issue('/a')], 'texts only')
  const list = new IssueList()
  t.equal(list.isFull, false)
  for (const one of given) list.add(one)
  t.strictSame([list.isFull, list.issues], [true, given.slice(0, 50)])
})

t.test('a long text is cut, and the issue that exceeds the total is the last', async (t) => {
  const long = 'k'.repeat(9_000)
  const kept = boundedIssues([issue(`/${long}`), issue('/a', long), issue('/b')])
  t.match(kept, [{ pointer: /^\/k{299}…$/ }, { message: /^k{300}…$/ }])
  t.equal(kept.length, 2)
  t.equal(boundedIssues([issue('k'.repeat(1_000_000))]).length, 1)
})
