/** The `fields` parameter as OpenAPI shows it. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { fields } from '../../../src/index.js'
import { documentFields } from '../../../src/plugins/fields/openapi.js'
import { type Operation, openApiOf } from '../../../src/schema/openapi.js'
import { documentOf } from '../../support/openapi.js'
import { array, object, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' } })
const ada = { name: 'Ada', age: 36, extra: 1 }
const described =
  'Names of the fields to answer, separated by commas; dots lead into objects, * is all. ' +
  'At most 64 names, 1024 characters, and 4 names with dots between them.'

t.test('OpenAPI shows the parameter where it works, with the default, and nowhere else', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(fields)
  app.addSchema({ $id: 'user', ...user })
  app.addSchema({ $id: 'closed', ...object({ limit: { type: 'integer' } }, { additionalProperties: false }) })
  const shows: Readonly<Record<string, object>> = {
    item: { response: { 200: user } },
    shared: { response: { 200: { $ref: 'user#' } } },
    late: { response: { 200: { $ref: 'late#' } } },
    class: { response: { '2XX': user } },
    default: { response: { default: user } },
    parts: { response: { 200: { allOf: [{ $ref: 'user#' }, { type: 'object', required: ['name'] }] } } },
    alternatives: { response: { 200: { oneOf: [{ type: 'null' }, { $ref: 'user#' }] } } },
    array: { response: { 200: array({ $ref: 'user#' }) } },
    lists: { response: { 200: object({ lists: array({ $ref: 'user#' }) }) } },
    'not-their-name': { response: { 200: object({ users: array(text) }) } },
    media: { response: { 200: { content: { 'application/json': { schema: user } } } } },
    closed: { querystring: { $ref: 'closed#' }, response: { 200: user } },
  }
  const showsNot: Readonly<Record<string, object>> = {
    errors: { response: { 404: user, '4xx': user, '5xx': user } },
    created: { response: { 201: user } },
    accepted: { response: { 202: user } },
    empty: { response: { 204: { type: 'null' } } },
    text: { response: { 200: text } },
    nothing: { response: { 200: {} } },
    tuple: { response: { 200: { type: 'array', items: [user] } } },
    map: { response: { 200: { type: 'object', additionalProperties: text } } },
    tags: { response: { 200: object({ tags: array(text) }) } },
    csv: { response: { 200: { content: { 'text/csv': { schema: user } } } } },
    short: { response: { 200: { content: { 'application/vnd.short+json': { schema: user } } } } },
  }
  for (const [name, schema] of Object.entries({ ...shows, ...showsNot }))
    app.get(`/${name}`, { schema }, () => ada)
  const schema = { response: { 200: user } }
  app.get('/chosen', { schema, config: { fields: { default: ['name', 'age'] } } }, () => ada)
  app.get('/off', { schema, config: { fields: false } }, () => ada)
  app.get('/mode-off', { schema, config: { fields: { mode: 'off' } } }, () => ada)
  app.get('/report', { schema, config: { fields: { mode: 'report' } } }, () => ada)
  app.get('/own-serializer', { schema, serializerCompiler: () => JSON.stringify }, () => ada)
  app.post('/item', { schema }, () => ada)
  app.register(async (child) => {
    child.setReplySerializer(() => 'own')
    child.get('/own-replies', { schema }, () => ada)
  })
  app.addSchema({ $id: 'late', ...user })
  const { paths = {} } = await documentOf(app)
  const shown = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) => {
      const own = parameters.filter((one) => one.in === 'query' && one.name === 'fields')
      return own.map(({ description, schema }) => {
        const [limits, byDefault] = String(description).split(' Default: ')
        t.strictSame([limits, schema], [described, { anyOf: [text, array(text)] }], path)
        return [method, path, byDefault]
      })
    }),
  )
  t.strictSame(shown, [
    ...Object.keys(shows).map((name) => ['get', `/${name}`, 'all']),
    ['get', '/chosen', 'name, age'],
    ['get', '/own-serializer', 'all'],
  ])
  for (const name of Object.keys({ ...shows, ...showsNot })) {
    const { statusCode } = await app.inject(`/${name}?fields=nope`)
    t.equal(statusCode === 400, name in shows, `${name} selects, or does not`)
  }
})

t.test('nothing is required of what fields are selected from, and the rest stays required', async (t) => {
  const $ref = '#/components/schemas/item'
  const item = object({ name: text, of: { $ref } }, { required: ['name'] })
  const page = object({ users: array({ $ref }) }, { required: ['users'] })
  const answer = (schema: never) => ({ content: { 'application/json': { schema } } })
  const responses = { 200: answer(page as never), 202: answer({ $ref } as never), 404: answer(item as never) }
  const selected = documented({ responses }, { item }).responses
  const optional = object({ name: text, of: {} })
  t.strictSame(selected?.[200], answer({ ...page, properties: { users: array(optional) } } as never))
  for (const status of [202, 404] as const)
    t.strictSame(selected?.[status], responses[status], 'nothing is selected from it')
  for (const status of ['203', '2XX', 'default']) {
    const demands = { minProperties: 1, dependentRequired: { of: ['name'] }, not: { required: ['of'] } }
    const schemas = { item: { ...item, ...demands } }
    const { responses } = documented({ responses: { [status]: answer({ $ref } as never) } }, schemas)
    t.strictSame(responses?.[status], answer(optional as never), status)
  }
  const problem = { 200: answer(page as never), default: answer(item as never) }
  t.equal(documented({ responses: problem }, { item }).responses?.default, problem.default, 'of errors')
  const lists = [array(text), { type: ['array', 'null'] }]
  for (const users of [...lists, text, object({})]) {
    const body = answer(object({ users }, { required: ['users'] }) as never)
    const shown = JSON.stringify(documented({ responses: { 200: body } }).responses)
    t.equal(shown.includes('required'), lists.includes(users as never), JSON.stringify(users))
  }
  const single = documented({ responses: { 200: answer({ $ref } as never) } }, { item })
  t.strictSame(single.responses?.[200], answer(optional as never))
})

function documented(operation: Operation, schemas: object = {}): Operation {
  const openapi = openApiOf({ openapi: '3.1.0', components: { schemas } })
  if (openapi === null) throw new Error('no OpenAPI')
  const facts = { reads: true, lists: ['members', 'users'] }
  return documentFields({ mode: 'enforce' }, facts, () => [])(operation, openapi)
}
