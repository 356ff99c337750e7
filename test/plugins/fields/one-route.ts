import Fastify, { type FastifyReply } from 'fastify'
import { type FieldsRouteOptions, fields, integerTwins, problems } from '../../../src/index.js'

interface RouteSetUp {
  /** The options of the route. */
  readonly config?: FieldsRouteOptions | undefined
  readonly twins?: boolean
  readonly url?: string
}

/** An app with one route for GET, which answers a value, or what a function of the reply sends. */
export async function oneRoute(
  schema: object,
  value: unknown,
  { config, twins = true, url }: RouteSetUp = {},
) {
  const app = Fastify()
  await app.register(problems)
  await app.register(fields)
  if (twins) await app.register(integerTwins)
  app.get(
    url ?? '/v1/users/:id',
    { schema, config: config === undefined ? {} : { fields: config } },
    async (_, reply: FastifyReply) => (typeof value === 'function' ? value(reply) : value),
  )
  return app
}

/** The body that {@link oneRoute} with a response schema sends to one request. */
export async function bodyOf(query: string, schema: object, value: unknown, setUp: RouteSetUp = {}) {
  const app = await oneRoute({ response: { 200: structuredClone(schema) } }, value, setUp)
  return (await app.inject((setUp.url ?? '/v1/users/1').replace(':id', '1') + query)).payload
}

export const text = { type: 'string' }
export const int64 = { type: 'integer', format: 'int64' }
export const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
export const array = (items: object) => ({ type: 'array', items })
