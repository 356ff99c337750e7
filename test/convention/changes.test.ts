import Fastify, { type FastifySchema } from 'fastify'
import t from 'tap'
import { z } from 'zod'
import { changesOf, problems, serverOptions } from '../../src/index.js'

const moment = '2026-11-27T00:00:00.000Z'

const article = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64', readOnly: true },
    name: { type: 'string' },
    price: { type: 'integer' },
    sizes: { type: 'array', items: { type: 'integer' } },
    maker: { type: 'object', additionalProperties: true },
    sold_at: { type: ['string', 'null'], format: 'date-time' },
    'made/at': { type: 'string', format: 'date-time', readOnly: true },
  },
}

const row = {
  id: 7n,
  name: 'Tea',
  price: 450n,
  sizes: [1n, 2n],
  maker: { id: 3n, at: new Date(moment) },
  sold_at: null,
  'made/at': new Date(moment),
}

/** Sends a body to a route with a schema, whose handler returns what `changesOf()` returns. */
async function changed(
  body: unknown,
  { of = row, schema = { body: article } }: { of?: object; schema?: FastifySchema | null } = {},
) {
  const app = Fastify({ ...serverOptions(), ajv: { customOptions: { allowUnionTypes: true } } })
  app.addSchema({ ...article, $id: 'article' })
  await app.register(problems)
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
  if (schema?.body instanceof z.ZodType) app.setValidatorCompiler(() => (value) => ({ value }))
  app.put('/v1/articles/:id', schema === null ? {} : { schema }, async (request) => changesOf(request, of))
  const response = await app.inject({ method: 'PUT', url: '/v1/articles/7', payload: body as object })
  return { status: response.statusCode, ...response.json() }
}

t.test('the members of a body that differ from the row are returned', async (t) => {
  const [later, emptied] = [{ sold_at: '2026-11-27T01:00:00+01:00' }, { maker: {} }]
  const cases: readonly (readonly [sent: object, changes: object, why: string, of?: object])[] = [
    [{}, {}, 'nothing'],
    [{ name: 'tea' }, { name: 'tea' }, 'another text'],
    [{ price: 450 }, {}, 'a Number that is the BigInt of the row'],
    [{ sizes: [1, 2] }, {}, 'an array with the same items'],
    [{ sizes: [2, 1] }, { sizes: [2, 1] }, 'another order'],
    [{ sizes: [1, 2, 3] }, { sizes: [1, 2, 3] }, 'a longer array'],
    [{ maker: { at: '2026-11-27T01:00:00+01:00', id: 3 } }, {}, 'an object, in whichever order'],
    [{ maker: { id: 3, on: moment } }, { maker: { id: 3, on: moment } }, 'an object with another name'],
    [{ sold_at: null }, {}, 'null'],
    [{ sold_at: moment }, { sold_at: moment }, 'a value in place of null'],
    [{ other: null }, { other: null }, 'a member that the row does not have'],
    [{ toString: 1 }, { toString: 1 }, 'the name of a method'],
    [{ sold_at: null }, { sold_at: null }, 'null in place of a value', { sold_at: moment }],
    [{ maker: [] }, { maker: [] }, 'an array in place of an object', emptied],
    [later, {}, 'text of the same moment', { sold_at: moment }],
    [{ name: moment }, { name: moment }, 'no moment by the schema', { name: moment.replace('.000', '') }],
  ]
  const open = { body: { ...article, properties: { ...article.properties, maker: {} } } }
  for (const [sent, changes, why, of = row] of cases)
    t.strictSame(await changed(sent, { schema: open, of }), { status: 200, ...changes }, why)
})

t.test('a read-only member can be repeated; another value is refused with its pointer', async (t) => {
  const repeated = { id: 7, 'made/at': '2026-11-27T00:00:00Z', name: 'Coffee' }
  t.strictSame(await changed(repeated), { status: 200, name: 'Coffee' }, 'and it is not returned')
  const properties = { ...article.properties, 'made/at': { readOnly: true } }
  const sent = { id: 8, 'made/at': 'never', name: 'Coffee' }
  const refused = await changed(sent, { schema: { body: { ...article, properties } } })
  const detail = 'id, made/at: read-only, so its value can only be repeated'
  const errors = ['/id', '/made~1at'].map((pointer) => ({ in: 'body', pointer }))
  t.match(refused, { status: 400, code: 'validation', detail, errors })
  const ofNull = { of: {}, schema: { body: { properties: { id: { readOnly: true } } } } }
  t.match(await changed({ id: null }, ofNull), { status: 400 })
})

t.test('read-only members are found in each kind of schema', async (t) => {
  const body = z.object({ id: z.number().meta({ readOnly: true }), name: z.string() }).partial()
  for (const [schema, kind] of [
    [{ body: { $ref: 'article#' } }, 'a shared schema'],
    [{ body: { allOf: [{ type: 'object' }, { $ref: 'article#' }] } }, 'allOf'],
    [{ body: { content: { 'application/json': { schema: article } } } }, 'a schema for a media type'],
    [{ body }, 'Zod'],
  ] as const) {
    t.match(await changed({ id: 8 }, { schema }), { status: 400, errors: [{ pointer: '/id' }] }, kind)
    t.strictSame(await changed({ id: 7, name: 'A' }, { schema }), { status: 200, name: 'A' }, kind)
  }
})

t.test('without a schema, all members are compared, and none is read-only', async (t) => {
  t.strictSame(await changed({ id: 8, name: 'Tea' }, { schema: {} }), { status: 200, id: 8 })
  t.strictSame(await changed(undefined, { schema: {} }), { status: 200 }, 'no body')
  t.strictSame(await changed({ id: 8 }, { schema: null }), { status: 200, id: 8 })
})
