import { type FieldsRouteOptions, fields, integerTwins, problems } from '../../../src/index.js'
import { appOf } from '../../support/app.js'

interface RouteSetUp {
  /** The options of the route. */
  readonly config?: FieldsRouteOptions | undefined
  readonly twins?: boolean
  readonly url?: string
}

/** The body that an app with one route for GET sends to one request. */
export async function bodyOf(
  query: string,
  schema: object,
  value: unknown,
  { config, twins = true, url = '/v1/users/:id' }: RouteSetUp = {},
) {
  const app = await appOf(problems, fields)
  if (twins) await app.register(integerTwins)
  const options = { schema: { response: { 200: structuredClone(schema) } } }
  app.get(url, { ...options, config: config === undefined ? {} : { fields: config } }, async () => value)
  return (await app.inject(url.replace(':id', '1') + query)).payload
}

export const text = { type: 'string' }
export const int64 = { type: 'integer', format: 'int64' }
export const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
export const array = (items: object) => ({ type: 'array', items })
