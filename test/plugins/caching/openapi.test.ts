import t from 'tap'
import { withResponses } from '../../../src/json-schema/added-responses.js'
import { cachingResponses } from '../../../src/plugins/caching/openapi.js'

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const reading = cachingResponses({ reads: true, guards: false, tagsWrites: false })

t.test('the additions to a route, by its methods and options', async (t) => {
  const statuses = (...given: Parameters<typeof cachingResponses>) =>
    Object.keys(cachingResponses(...given).statuses)
  t.strictSame(statuses({ reads: true, guards: false, tagsWrites: false }), ['304', '412'])
  t.strictSame(statuses({ reads: false, guards: 'optional', tagsWrites: false }), ['412'])
  t.strictSame(statuses({ reads: false, guards: 'required', tagsWrites: false }), ['412', '428'])
  t.strictSame(statuses({ reads: true, guards: 'required', tagsWrites: false }), ['304', '412', '428'])
  t.strictSame(cachingResponses({ reads: false, guards: false, tagsWrites: false }), {
    headers: {},
    statuses: {},
  })
  const tagged = cachingResponses({ reads: false, guards: false, tagsWrites: true })
  t.strictSame(Object.keys(tagged.headers), ['ETag'], 'a write that answers with the new tag shows it')
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
