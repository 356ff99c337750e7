import type { FastifySchema } from 'fastify'
import t from 'tap'
import { problemsOf, type RouteDescription, withDescriptions } from '../../src/problem/route-description.js'

interface Answer {
  readonly description?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, unknown>>
}

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const reads: RouteDescription = {
  headers: { ETag: { type: 'string' } },
  statuses: { 304: 'Not modified' },
  problems: problemsOf({ 'precondition-failed': 'A precondition does not hold' }),
}

function responses(response: unknown, ...all: readonly RouteDescription[]): Record<string, Answer> {
  return withDescriptions({ response } as FastifySchema, all).response as Record<string, Answer>
}

function statuses(...given: Parameters<typeof responses>): string[] {
  return Object.keys(responses(...given)).sort()
}

function codesOf(answer: Answer | undefined): unknown {
  const schema = answer?.content?.['application/problem+json'] as {
    schema: { allOf: [object, { properties: { code: unknown } }] }
  }
  return schema.schema.allOf[1].properties.code
}

t.test(
  'headers are added to successes with content, references included, and declared ones stay',
  async (t) => {
    const headers = { ETag: { type: 'integer' } }
    const response = {
      200: { $ref: 'user#' },
      203: { ...user, headers },
      204: user,
      '2xx': user,
      301: user,
      404: user,
    }
    const completed = responses(response, { headers: { ETag: { type: 'string' } } })
    t.strictSame(
      Object.entries(completed).flatMap(([status, { headers: found }]) =>
        found === undefined ? [] : [status],
      ),
      ['200', '203', '2xx'],
    )
    t.strictSame(completed['200'], { $ref: 'user#', headers: { ETag: { type: 'string' } } })
    t.strictSame(completed['203']?.headers?.ETag, { type: 'integer' })
    t.notOk('headers' in user, 'the schema of the app is not written to')
  },
)

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

t.test(
  'schemas of another validator are not changed, and a route without schemas gets its errors',
  async (t) => {
    for (const response of [null, 'x', new (class Other {})()]) {
      t.equal(withDescriptions({ response } as FastifySchema, [reads]).response, response)
    }
    t.strictSame(statuses(undefined, reads), ['200', '304', '412'])
    t.strictSame(withDescriptions({}, []), {}, 'nothing is added where there is nothing to add')
  },
)

t.test('a status that is declared, or that a class or the default covers, is not added', async (t) => {
  t.strictSame(statuses({ 200: user }, reads), ['200', '304', '412'])
  t.strictSame(statuses({ 200: user, '4xx': user }, reads), ['200', '304', '4xx'])
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
  const headers = { type: 'object', required: ['a'], properties: { prefer: { enum: ['x'] } } }
  t.strictSame(withDescriptions({ headers }, [described]), {
    headers: {
      type: 'object',
      properties: { prefer: { enum: ['x'] }, 'Idempotency-Key': { type: 'string', minLength: 1 } },
      required: ['a', 'Idempotency-Key'],
    },
  })
  const reference = { $ref: 'headers#' }
  t.strictSame(withDescriptions({ headers: reference }, [described]), { headers: reference })
})
