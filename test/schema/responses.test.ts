/** What the response schemas of a route say of its answers, by status and media type. */
import fc from 'fast-check'
import t from 'tap'
import { bodyFor, mapBodies, producedTypes, responseBodies } from '../../src/schema/responses.js'

const json = ['application/json']
const both = ['application/json', 'text/csv']
const [ok, csv, other] = [{ title: 'ok' }, { title: 'csv' }, { title: 'other' }]

t.test('the schema of a response: by status, class of statuses or default, and by media type', async (t) => {
  const content = { 'Text/CSV; header=present': { schema: csv }, '*/*': { schema: other } }
  const rows: readonly (readonly [response: unknown, status: number, mediaType: string, schema: unknown])[] =
    [
      [{ 200: ok, '2xx': csv, default: other }, 200, 'application/json', ok],
      [{ 200: ok, '2XX': csv, default: other }, 201, 'application/json', csv],
      [{ 200: ok, '2xx': csv, Default: other }, 404, 'application/json', other],
      [{ 200: ok }, 404, 'application/json', undefined],
      [{ 200: { content } }, 200, 'text/csv', csv],
      [{ 200: { content } }, 200, 'application/json', other],
      [{ 200: { content: { 'text/csv': { schema: csv } } }, default: other }, 200, 'application/json', other],
      [{ 200: { content: { 'application/json': {} } } }, 200, 'application/json', undefined],
      [null, 200, 'application/json', undefined],
      ['text', 200, 'application/json', undefined],
    ]
  for (const [response, status, mediaType, schema] of rows) {
    const body = bodyFor(responseBodies(response), status, mediaType)
    t.equal(body?.schema, schema, `${JSON.stringify(response)} ${status} ${mediaType}`)
  }
})

t.test('mapBodies replaces the schemas of bodies, and returns the same object if none changes', async (t) => {
  const response = {
    200: ok,
    201: { content: { 'text/csv': { schema: csv, example: 1 }, 'text/plain': {} } },
  }
  const shouted = mapBodies(response, (schema) => (schema === csv ? other : schema))
  t.strictSame(shouted, {
    200: ok,
    201: { content: { 'text/csv': { schema: other, example: 1 }, 'text/plain': {} } },
  })
  t.equal(
    mapBodies(response, (schema) => schema),
    response,
  )
  t.equal(
    mapBodies('text', () => other),
    'text',
  )
})

t.test('the media types of success in a response schema', async (t) => {
  const object = { type: 'object' }
  const rows: readonly (readonly [response: unknown, produced: readonly string[] | null])[] = [
    [undefined, null],
    ['200', null],
    [{ 200: object }, json],
    [{ '2xx': object }, json],
    [{ '2XX': object }, json],
    [{ 200: { $ref: 'user#' } }, json],
    [{ 404: object }, null],
    [{ '4xx': object, 200: object }, json],
    [{ 200: { type: 'null' }, 201: object }, json],
    [{ 200: { type: 'string' }, 201: object }, null],
    [{ 202: object }, json],
    [{ 204: { description: 'Deleted' } }, null],
    [{ 205: object }, null],
    [{ 204: { type: 'null' }, default: object }, null],
    [{ 200: object, default: { content: { 'application/problem+json': { schema: object } } } }, json],
    [{ '2xx': object, default: { content: { 'text/csv': { schema: object } } } }, json],
    [{ 404: object, DEFAULT: object }, json],
    [{ 200: object, 204: { type: 'null' } }, json],
    [{ 200: { content: { 'Text/CSV; charset=utf-8': {} } } }, ['text/csv']],
    [{ 200: { content: { 'application/json': {}, 'text/csv': {} } } }, both],
    [{ 200: object, 206: { content: { 'text/csv': {} } } }, both],
    [{ 200: { content: { 'text/csv': {} } }, 202: object }, ['text/csv']],
    [{ 200: { content: { '*/*': {} } } }, null],
    [{ 200: { content: {} }, default: object }, null],
  ]
  for (const [response, produced] of rows) {
    t.strictSame(producedTypes(response), produced, JSON.stringify(response))
  }
  fc.assert(fc.property(fc.anything(), (response) => producedTypes(response)?.length !== 0))
})
