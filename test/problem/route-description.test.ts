import t from 'tap'
import { describer, problemsOf, type RouteDescription } from '../../src/problem/route-description.js'
import { type OpenApi, type Operation, openApiOf } from '../../src/schema/openapi.js'
import { withoutReferences } from '../support/openapi.js'

type Responses = NonNullable<Operation['responses']>

const user = { content: { 'application/json': { schema: { type: 'object' } } } }
const reads: RouteDescription = {
  headers: { ETag: { type: 'string', description: 'The tag' } },
  statuses: { 304: 'Not modified' },
  problems: problemsOf({ 'precondition-failed': 'A precondition does not hold' }),
}

function responses(declared: Responses, ...all: readonly RouteDescription[]): Responses {
  return completed({ responses: declared }, ...all).responses ?? {}
}

function completed(operation: Operation, ...all: readonly RouteDescription[]): Operation {
  const openapi = openApiOf({ openapi: '3.1.0' }) as OpenApi
  const described = describer(openapi)(operation, all)
  return withoutReferences({ ...openapi.document, described }).described
}

function codesOf(answer: Responses[string] | undefined): unknown {
  const schema = answer?.content?.['application/problem+json']?.schema as unknown as {
    readonly allOf: readonly [object, { readonly properties: { readonly code: unknown } }]
  }
  t.match(schema.allOf[1], { required: ['status', 'code'], properties: { status: { type: 'integer' } } })
  t.strictSame(schema.allOf[0], { $ref: '#/components/schemas/Problem' })
  return schema.allOf[1].properties.code
}

t.test('headers are added to successes with content, and declared ones stay', async (t) => {
  const headers = { ETag: { schema: { type: 'integer' } } }
  const declared = { 200: user, 203: { ...user, headers }, 204: user, '2XX': user, 301: user, 404: user }
  const completed = responses(declared, { headers: reads.headers ?? {} })
  const found = Object.entries(completed).flatMap(([status, one]) => (one.headers ? [status] : []))
  t.strictSame(found, ['200', '203', '2XX'])
  const ETag = { description: 'The tag', schema: { type: 'string' } }
  t.strictSame(completed['200'], { ...user, headers: { ETag } })
  t.strictSame(completed['203']?.headers, headers)
})

t.test('headers of all responses are on problems, too, whichever convention adds them', async (t) => {
  const everywhere: RouteDescription = { allHeaders: { RateLimit: { type: 'string' } } }
  for (const all of [
    [everywhere, reads],
    [reads, everywhere],
  ]) {
    const completed = responses({ 200: user }, ...all)
    for (const status of ['200', '304', '412']) t.ok(completed[status]?.headers?.RateLimit, status)
  }
})

t.test('the codes of a status are one enum, with the descriptions of all conventions', async (t) => {
  const first: RouteDescription = { problems: problemsOf({ validation: 'The input is invalid' }) }
  const second: RouteDescription = { problems: problemsOf({ 'fields-invalid': 'No such field' }) }
  const open = responses({ 200: user }, first, second, first)['400']
  t.equal(open?.description, 'The input is invalid; No such field')
  const codes = ['validation', 'fields-invalid', 'request-malformed', 'uri-malformed']
  const known = { type: 'string', enum: codes }
  t.strictSame(codesOf(open), { anyOf: [known, { type: 'string' }] }, 'an app may have others')
  t.strictSame(codesOf(responses({ 200: user }, first, second, { isComplete: true })['400']), known)
})

t.test('a status that is declared, or that a class or the default covers, is not added', async (t) => {
  for (const [declared, expected] of [
    [{}, ['200', '304', '412']],
    [{ '4XX': user }, ['200', '304', '4XX']],
    [{ '3XX': user }, ['200', '3XX', '412']],
    [{ default: user }, ['200', '304', 'default']],
  ] as const)
    t.strictSame(Object.keys(responses({ 200: user, ...declared }, reads)).sort(), expected)
  t.strictSame(responses({ 200: user, 412: user }, reads)['412'], user)
  const invalid = { problems: problemsOf({ validation: 'The input is invalid' }) }
  t.strictSame(Object.keys(responses({ default: user }, invalid)), ['default'])
})

t.test('header fields of the request are added, in whichever case they are declared', async (t) => {
  const parameters = [{ in: 'header', name: 'prefer', schema: { enum: ['x'] } }]
  const schema = { type: 'string', minLength: 1 }
  const described: RouteDescription = {
    parameters: { Prefer: { schema }, 'Idempotency-Key': { schema, isRequired: true }, 'X-Own': { schema } },
  }
  t.notOk('parameters' in completed({ responses: { 200: user } }, reads))
  t.strictSame(completed({ parameters }, described).parameters, [
    ...parameters,
    { in: 'header', name: 'Idempotency-Key', required: true, schema },
    { in: 'header', name: 'X-Own', schema },
  ])
})

t.test('responses, headers and parameters are components, each distinct one once', async (t) => {
  const components = { responses: { PreconditionFailed: { description: 'Of the app' } } }
  const openapi = openApiOf({ openapi: '3.1.0', components }) as OpenApi
  const withDescriptions = describer(openapi)
  const [first, second, other] = [
    [{ 200: user }, [reads]],
    [{ 204: user }, [reads]],
    [{ 200: user }, [reads, { problems: problemsOf({ 'precondition-failed': 'Or another one' }) }]],
  ].map(([declared, all]) =>
    withDescriptions({ responses: declared as Responses }, all as readonly RouteDescription[]),
  )
  const names = [first, second, other].map((one) => /\w+$/.exec(String(one?.responses?.['412']?.$ref))?.[0])
  t.strictSame(names, ['PreconditionFailed2', 'PreconditionFailed2', 'PreconditionFailed3'])
  t.strictSame(first?.responses?.['200']?.headers, { ETag: { $ref: '#/components/headers/ETag' } })
  t.strictSame(Object.keys(openapi.document.components?.responses ?? {}), [
    'PreconditionFailed',
    'NotModified',
    'PreconditionFailed2',
    'PreconditionFailed3',
  ])
})

t.test('the schema of a problem has its members, and those of its errors', async (t) => {
  const openapi = openApiOf({ openapi: '3.1.0' }) as OpenApi
  describer(openapi)({ responses: { 200: user } }, [reads])
  const [text, uri] = [{ type: 'string' }, { type: 'string', format: 'uri-reference' }]
  const place = { type: 'string', enum: ['body', 'query', 'path', 'header'] }
  const issue = { required: ['in', 'message'], properties: { in: place, pointer: text, name: text } }
  const status = { type: 'integer', minimum: 400, maximum: 599 }
  const texts = { type: uri, title: text, detail: text, code: text, instance: uri }
  t.match(openapi.document.components?.schemas?.Problem, {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'code'],
    properties: { ...texts, status, errors: { type: 'array', items: issue } },
  })
})
