/** The document has no field that is hidden from everybody, and requires none that may be hidden. */
import swagger from '@fastify/swagger'
import { Ajv2020 } from 'ajv/dist/2020.js'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields, integerTwins } from '../../../src/index.js'
import { withoutFields } from '../../../src/plugins/fields/hidden-schema.js'
import { SchemaReader } from '../../../src/schema/reader.js'
import { documentOf } from '../../support/openapi.js'
import { array, int64, object, text } from './one-route.js'

type Hidden = NonNullable<FieldsRouteOptions['hidden']>

const required = ['name', 'secret']
const card = object({ number: text, brand: text }, { required: ['number'], additionalProperties: false })
const user = object({ name: text, secret: text, pin: int64, card }, { required, additionalProperties: false })
const ada = { name: 'Ada', secret: 'S', pin: 5n, card: { number: '4', brand: 'v' } }
const visible = { name: 'Ada', card: { brand: 'v' } }
const everybody: Hidden = { secret: true, pin: true, 'card.number': true }
const some: Hidden = { secret: () => true, pin: () => true, 'card.number': () => true }

const isNamed = /"(?:secret|pin|pin_str|number|S)"/

async function service(openapi = '3.1.0') {
  const app = Fastify({ ajv: { customOptions: { strict: false } } })
  await app.register(swagger, { openapi: { openapi, info: { title: 't', version: '1' } } })
  await app.register(fields)
  await app.register(integerTwins)
  app.addSchema({ $id: 'User', title: 'User', ...user })
  return app
}

type Row = readonly [schema: object, within?: (user: unknown) => unknown]
const $ref = 'User#'
const of = { $ref }
const ofSecret = { if: object({ secret: { const: 'X' } }), else: { required } }

const rows: Readonly<Record<string, Row>> = {
  plain: [user],
  shared: [{ $ref }],
  merged: [{ allOf: [{ $ref }, { type: 'object', required: ['pin', 'pin_str'] }] }],
  alternatives: [{ oneOf: [{ type: 'null' }, { $ref }, object({ name: text })] }],
  condition: [{ ...user, ...ofSecret, not: object({ pin: int64 }, { required: ['x'] }) }],
  bounds: [{ ...user, minProperties: 4, dependentRequired: { name: ['secret'] } }],
  array: [array({ $ref }), (one) => [one]],
  nested: [object({ of }, { required: ['of'] }), (of) => ({ of })],
  items: [
    object({ of: { anyOf: [array({ $ref }), { type: 'null' }] } }, { required: ['of'] }),
    (one) => ({ of: [one] }),
  ],
}

t.test('what may be hidden is not required, and what is hidden from everybody is not named', async (t) => {
  for (const [name, [schema, within = (user: unknown) => user]] of Object.entries(rows)) {
    const isNested = Object.keys(within({}) as object).includes('of')
    const app = await service()
    app.get('/shared', { schema: { response: { 200: { $ref } } }, config: { fields: false } }, () => ada)
    const expected: [method: 'GET' | 'POST', url: string, status: string][] = []
    for (const [of, fields] of Object.entries({ everybody, some })) {
      const entries = Object.entries(fields).map(([path, hides]) => [isNested ? `of.${path}` : path, hides])
      const config = { fields: { hidden: Object.fromEntries(entries) } }
      for (const method of ['GET', 'POST'] as const) {
        for (const status of ['200', ...(method === 'GET' ? [] : ['201', '202']), '2XX', 'default']) {
          const url = `/${of}-${method}-${status}`.toLowerCase()
          const handler = (_: FastifyRequest, reply: FastifyReply) =>
            reply.code(Number(status) || 200).send(within(ada))
          app.route({ method, url, schema: { response: { [status]: schema } }, config, handler })
          expected.push([method, url, status])
        }
      }
    }
    const { paths = {}, components } = await documentOf(app)
    const ajv = new Ajv2020({ strict: false, formats: { int64: true } })
    for (const [method, url, status] of expected) {
      const schema =
        paths[url]?.[method.toLowerCase()]?.responses?.[status]?.content?.['application/json']?.schema
      const body = (await app.inject({ method, url })).json()
      t.strictSame(body, within(visible), `${name} ${url}`)
      const validate = ajv.compile({ components, ...(schema as object) })
      t.ok(validate(body), `${name} ${url}: ${ajv.errorsText(validate.errors)}`)
      t.equal(isNamed.test(JSON.stringify(schema)), url.startsWith('/some'), `${name} ${url}: named`)
    }
    t.match(components?.schemas?.User, { required, properties: { secret: text } }, `${name}: of other routes`)
  }
})

t.test('hidden fields are in no success, also of another form; errors keep them', async (t) => {
  const app = await service()
  const config = { fields: { hidden: everybody } }
  const response = { 200: object({ users: array({ $ref }) }), 201: { $ref }, '2XX': { $ref } }
  const handler = (_: FastifyRequest, reply: FastifyReply) => reply.code(201).send(ada)
  const schema = { response: { ...response, 404: { $ref }, default: { $ref } } }
  app.post('/users', { schema, config }, handler)
  app.get('/users', { schema: { response }, config }, () => ({ users: [ada] }))
  const { get, post } = (await documentOf(app)).paths?.['/users'] ?? {}
  const { 404: notFound, default: other, ...successes } = post?.responses ?? {}
  t.notMatch(JSON.stringify([get, successes]), isNamed)
  for (const one of [notFound, other]) t.match(JSON.stringify(one), /"\$ref"/)
  t.strictSame((await app.inject({ method: 'POST', url: '/users' })).json(), visible)
  t.strictSame((await app.inject('/users')).json(), { users: [visible] })
})

t.test('a member that is only named like a twin stays', async (t) => {
  const app = await service()
  const own = object({ id: int64, id_str: text, name: text, name_str: text })
  const config = { fields: { hidden: { id: true, name: true } } } as const
  app.put('/user', { schema: { response: { 200: own } }, config }, () => ada)
  const { responses } = (await documentOf(app)).paths?.['/user']?.put ?? {}
  const { schema } = responses?.[200]?.content?.['application/json'] ?? {}
  t.strictSame(schema, object({ name_str: text }))
})

t.test('the default of the parameter does not name a field that is hidden from everybody', async (t) => {
  const app = await service()
  const options = { hidden: { ...everybody, name: () => true }, default: ['name', 'secret', 'card'] }
  app.get('/user', { schema: { response: { 200: user } }, config: { fields: options } }, () => ada)
  const { parameters } = (await documentOf(app)).paths?.['/user']?.get ?? {}
  t.match(parameters, [{ name: 'fields', description: /Default: name, card$/ }])
})

t.test('examples and defaults have no hidden field', async (t) => {
  for (const openapi of ['3.0.3', '3.1.0']) {
    const app = await service(openapi)
    const sample = { name: 'Ada', secret: 'S', card: { number: '4' } }
    const byDefault = { ...user.properties, card: { ...card, default: { number: '4', brand: 'v' } } }
    const answers = {
      one: { ...user, examples: [sample] },
      two: { ...user, examples: [sample, sample] },
      named: { ...user, 'x-examples': { ada: { summary: 'Ada', value: sample } } },
      nested: object(byDefault, { example: sample }),
    }
    const config = { fields: { hidden: everybody } }
    for (const [name, schema] of Object.entries(answers))
      app.put(`/${name}`, { schema: { response: { 200: schema } }, config }, () => ada)
    const { paths = {} } = await documentOf(app)
    for (const name of Object.keys(answers)) {
      const shown = JSON.stringify(paths[`/${name}`])
      t.notMatch(shown, isNamed, `${openapi} ${name}`)
      t.match(shown, /"name":"Ada"/, `${openapi} ${name}`)
    }
  }
})

t.test('a schema within itself ends, and a path hides only the field at that path', (t) => {
  const own = { $id: 'Node', $defs: { secret: text }, required }
  const node = object({ name: text, secret: text, parent: { $ref: '#/node' } }, own)
  const either = { anyOf: [{ $ref: '#/node' }, array({ $ref: '#/either' })] }
  const reader = new SchemaReader({ '': { node, either } })
  const without = (schema: object, paths: [string, Map<string, true>][]) =>
    withoutFields(schema as never, new Map(paths), reader)
  const left = object({ name: text, parent: { $ref: '#/node' } }, { required: ['name'] })
  const fields = new Map([['secret', true as const]])
  t.strictSame(withoutFields({ $ref: '#/either' }, fields, reader), { anyOf: [left, array({})] })
  t.match(without({ $ref: '#/node' }, [['parent', fields]]), { properties: { secret: text, parent: left } })
  t.end()
})
