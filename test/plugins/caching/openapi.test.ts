import t from 'tap'
import { withResponses } from '../../../src/json-schema/added-responses.js'
import { cachingResponses } from '../../../src/plugins/caching/openapi.js'

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const plan = { validators: null, validatorsOf: null, isPreconditionRequired: false }
const reading = cachingResponses(['GET'], plan)

t.test('the additions to a route, by its methods and options', async (t) => {
  const statuses = (...given: Parameters<typeof cachingResponses>) =>
    Object.keys(cachingResponses(...given).statuses)
  const guarded = { ...plan, validators: () => null }
  const required = { ...guarded, isPreconditionRequired: true }
  t.strictSame(statuses(['GET', 'HEAD'], plan), ['304', '412'])
  t.strictSame(statuses(['GET', 'HEAD'], required), ['304', '412'])
  t.strictSame(statuses(['PUT'], guarded), ['412'])
  t.strictSame(statuses(['PUT'], required), ['412', '428'])
  t.strictSame(statuses(['GET', 'PUT'], required), ['304', '412', '428'])
  t.strictSame(cachingResponses(['PUT'], plan), { headers: {}, statuses: {} })
  const tagged = cachingResponses(['PUT'], { ...plan, validatorsOf: () => null })
  t.strictSame(Object.keys(tagged.headers), ['ETag'], 'a write whose response has the new ETag')
})

t.test('headers are added to successes with content, and declared ones stay', async (t) => {
  const headers = { ETag: { type: 'integer' } }
  const response = { 200: user, 203: { ...user, headers }, 204: user, '2xx': user, 301: user, 404: user }
  const { response: completed } = withResponses({ response }, reading) as {
    response: Record<string, { headers?: Record<string, unknown> }>
  }
  t.strictSame(
    Object.entries(completed).flatMap(([status, { headers }]) => (headers === undefined ? [] : [status])),
    ['200', '203', '2xx'],
  )
  t.strictSame(completed['203']?.headers?.ETag, { type: 'integer' })
  t.notOk('headers' in user, 'the schema of the app is not written to')
})

t.test('missing schemas, non-objects and schemas of another validator are not changed', async (t) => {
  for (const response of [undefined, null, 'x', new (class Other {})()]) {
    const schema = { summary: 'a', response }
    t.equal(withResponses(schema, reading), schema)
  }
  const reference = { $ref: 'user#' }
  const { response } = withResponses({ response: { 200: reference } }, reading)
  t.equal((response as Record<string, unknown>)['200'], reference)
})

t.test('a status that a class or the default covers is not added', async (t) => {
  const statuses = (response: object) =>
    Object.keys(withResponses({ response }, reading).response as object).sort()
  t.strictSame(statuses({ 200: user }), ['200', '304', '412'])
  t.strictSame(statuses({ 200: user, '4xx': user }), ['200', '304', '4xx'])
  t.strictSame(statuses({ 200: user, '3XX': user }), ['200', '3XX', '412'])
  t.strictSame(statuses({ 200: user, default: user }), ['200', '304', 'default'])
})
