import Fastify from 'fastify'
import t from 'tap'
import { z } from 'zod'
import { jsonSchemasOf, useOwnCompilers } from '../../src/convention/route-schemas.js'

t.test('routes of this package are validated and written without the compilers of the app', async (t) => {
  for (const isOfApp of [true, false]) {
    const app = Fastify()
    if (isOfApp) {
      app.setValidatorCompiler(() => () => ({ error: new Error('of the app') }))
      app.setSerializerCompiler(() => () => 'of the app')
    }
    app.addHook('onRoute', (route) => useOwnCompilers(app, route))
    const closed = { type: 'object', additionalProperties: false }
    const properties = { limit: { type: 'string' } }
    const response = { 200: { type: 'object', properties: { id: { type: 'integer' } } } }
    const params = isOfApp ? closed : {}
    const handler = async () => ({ id: 2n ** 53n })
    app.get('/:id', { schema: { querystring: { ...closed, properties }, params, response } }, handler)
    app.get('/closed/:id', { schema: { querystring: closed, params, response } }, handler)
    const open = { type: 'object', properties }
    app.get('/open/:id', { schema: { querystring: open, params, response } }, handler)
    for (const [url, status] of [
      ['/1?limit=1', 200],
      ['/1?limit=1&x=1&y=1', isOfApp ? 400 : 200],
      ['/1?toString=1', isOfApp ? 400 : 200],
      ['/closed/1?limit=1', isOfApp ? 400 : 200],
      ['/open/1?x=1', 200],
    ] as const) {
      const { statusCode, body } = await app.inject(url)
      t.equal(statusCode, status, url)
      if (status === 200) t.equal(body, '{"id":9007199254740992}', url)
      else t.match(body, /must NOT have additional properties/, url)
    }
  }
})

t.test('schemas that are replaced in a schema which several routes share are converted again', async (t) => {
  const schema: Record<string, unknown> = { querystring: z.object({}), params: z.object({}) }
  const required = () => jsonSchemasOf({ schema })?.params as { readonly required?: readonly string[] }
  t.equal(required().required, undefined)
  schema.params = z.object({ id: z.string() })
  t.strictSame(required().required, ['id'])
})
