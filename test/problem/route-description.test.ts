import t from 'tap'
import { problemsOf, type RouteDescription, withDescriptions } from '../../src/problem/route-description.js'
import type { Operation } from '../../src/schema/openapi.js'

type Responses = NonNullable<Operation['responses']>

const user = { content: { 'application/json': { schema: { type: 'object' } } } }
const reads: RouteDescription = {
  headers: { ETag: { type: 'string', description: 'The tag' } },
  statuses: { 304: 'Not modified' },
  problems: problemsOf({ 'precondition-failed': 'A precondition does not hold' }),
}

function responses(declared: Responses, ...all: readonly RouteDescription[]): Responses {
  return withDescriptions({ responses: declared }, all, () => '#/components/schemas/Problem').responses ?? {}
}

function statuses(...given: Parameters<typeof responses>): string[] {
  return Object.keys(responses(...given)).sort()
}

function codesOf(answer: Responses[string] | undefined): unknown {
  const schema = answer?.content?.['application/problem+json']?.schema as unknown as {
    readonly allOf: readonly [object, { readonly properties: { readonly code: unknown } }]
  }
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
  const known = {
    type: 'string',
    enum: ['validation', 'fields-invalid', 'request-malformed', 'uri-malformed'],
  }
  t.strictSame(codesOf(open), { anyOf: [known, { type: 'string' }] }, 'an app may have others')
  t.strictSame(codesOf(responses({ 200: user }, first, second, { isComplete: true })['400']), known)
})

t.test('a status that is declared, or that a class or the default covers, is not added', async (t) => {
  t.strictSame(statuses({ 200: user }, reads), ['200', '304', '412'])
  t.strictSame(statuses({ 200: user, '4XX': user }, reads), ['200', '304', '4XX'])
  t.strictSame(statuses({ 200: user, '3XX': user }, reads), ['200', '3XX', '412'])
  t.strictSame(statuses({ 200: user, default: user }, reads), ['200', '304', 'default'])
  t.equal(responses({ 200: user, 412: user }, reads)['412'], user)
})

t.test('header fields of the request are added, in whichever case they are declared', async (t) => {
  const described: RouteDescription = {
    parameters: {
      Prefer: { schema: { type: 'string' } },
      'Idempotency-Key': { schema: { type: 'string', minLength: 1 }, isRequired: true },
    },
  }
  const parameters = [{ in: 'header', name: 'prefer', schema: { enum: ['x'] } }]
  t.strictSame(withDescriptions({ parameters }, [described], () => '').parameters, [
    ...parameters,
    {
      in: 'header',
      name: 'Idempotency-Key',
      required: true,
      schema: { type: 'string', minLength: 1 },
    },
  ])
})
