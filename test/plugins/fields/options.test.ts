/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type FieldsOptions, type FieldsRouteOptions, fields } from '../../../src/index.js'
import { array, object, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' }, a: object({ b: text }) })
const invalid = 'FST_CONV_OPTION_INVALID'
const unknown = 'FST_CONV_OPTION_UNKNOWN'

t.test('invalid options are refused at registration, by their name', async (t) => {
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ mode: 'warn' }, invalid, /fields\.mode.*'enforce', 'report', 'off'/],
    [{ default: ['name'] }, unknown, /fields\.default/],
    [{ max: 5 }, unknown, /fields\.max/],
  ]
  for (const [options, code, message] of wrong) {
    await t.rejects(async () => Fastify().register(fields, options as FieldsOptions), { code, message })
  }
})

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const wrong: readonly (readonly [config: unknown, code: string, message: RegExp])[] = [
    [true, invalid, /GET \/v1\/users\/:id config\.fields: expected an object or false, received true/],
    [null, invalid, /config\.fields/],
    ['name', invalid, /config\.fields/],
    [{ default: 'name' }, invalid, /config\.fields\.default/],
    [{ default: ['name', ''] }, invalid, /config\.fields\.default\[1\]/],
    [{ hidden: ['name'] }, invalid, /config\.fields\.hidden/],
    [{ hidden: null }, invalid, /config\.fields\.hidden/],
    [{ hidden: { name: 'yes' } }, invalid, /config\.fields\.hidden\['name'\].*'yes'/],
    [{ hidden: { name: false } }, invalid, /config\.fields\.hidden\['name'\]/],
    [{ fields: [] }, unknown, /config\.fields\.fields/],
  ]
  for (const [config, code, message] of wrong) {
    t.throws(() => route(app, '/v1/users/:id', config), { code, message }, JSON.stringify(config))
  }
})

t.test('defaults and hidden fields that the schema does not have fail the boot', async (t) => {
  const wrong: readonly (readonly [config: FieldsRouteOptions, message: RegExp])[] = [
    [{ default: ['name', 'nope'] }, /config\.fields\.default.*fields of the response schema.*'nope'/],
    [{ default: ['a.nope'] }, /config\.fields\.default.*'a\.nope'/],
    [{ default: ['*'] }, /config\.fields\.default.*'\*'/],
    [{ default: ['__proto__'] }, /config\.fields\.default.*'__proto__'/],
    [{ hidden: { password: true } }, /config\.fields\.hidden.*'password'/],
    [{ hidden: { 'name.x': true } }, /config\.fields\.hidden.*'name\.x'/],
  ]
  for (const [config, message] of wrong) {
    const app = Fastify()
    await app.register(fields)
    route(app, '/v1/users/:id', config)
    await t.rejects(async () => app.ready(), { code: invalid, message }, JSON.stringify(config))
  }
})

t.test('a default or hidden field on a route without selection fails the boot', async (t) => {
  const schemas: readonly (object | undefined)[] = [
    undefined,
    { response: { 404: user } },
    { response: { 200: text } },
    { response: { 200: array(text) } },
    { response: { 200: {} } },
  ]
  for (const schema of schemas) {
    for (const mode of ['enforce', 'report'] as const) {
      const boot = async (config: FieldsRouteOptions): Promise<void> => {
        const app = Fastify()
        await app.register(fields, { mode })
        app.get('/v1/users/:id', { ...(schema && { schema }), config: { fields: config } }, () => 'a')
        await app.ready()
      }
      const label = `${mode} ${JSON.stringify(schema)}`
      await t.rejects(boot({ default: ['name'] }), { code: invalid }, label)
      await t.rejects(boot({ hidden: { name: true } }), { code: invalid }, label)
    }
  }
})

t.test('the options of a route replace those of the plugin, also in child contexts', async (t) => {
  const app = Fastify()
  await app.register(fields, { mode: 'report' })
  route(app, '/v1/counted/:id', undefined)
  route(app, '/v1/enforced/:id', { mode: 'enforce' })
  route(app, '/v1/off/:id', false)
  await app.register(async (child) => route(child, '/v1/child/:id', { mode: 'enforce', default: ['age'] }))
  const rows: readonly (readonly [target: string, status: number, body?: string])[] = [
    ['/v1/counted/1?fields=nope', 200],
    ['/v1/enforced/1?fields=name', 200],
    ['/v1/enforced/1?fields=nope', 400],
    ['/v1/off/1?fields=nope,nope', 200],
    ['/v1/child/1', 200, '{"age":36}'],
  ]
  for (const [target, status, body] of rows) {
    const { statusCode, payload } = await app.inject(target)
    t.strictSame([statusCode, body ?? payload], [status, payload], target)
  }
})

t.test('config objects that several routes share are not changed', async (t) => {
  const config = Object.freeze({ fields: Object.freeze({ default: Object.freeze(['name']) }) })
  const app = Fastify()
  await app.register(fields)
  const options = { schema: { response: { 200: user } }, config }
  app.get('/v1/users/:id', options, () => ({ name: 'Ada', age: 1 }))
  app.get('/v1/admins/:id', options, () => ({ name: 'Eve', age: 2 }))
  t.equal((await app.inject('/v1/users/1')).payload, '{"name":"Ada"}')
  t.equal((await app.inject('/v1/admins/1?fields=age')).payload, '{"age":2}')
})

t.test('a second registration in one context is an error, in another context it is not', async (t) => {
  const app = Fastify()
  await app.register(fields)
  await t.rejects(async () => app.register(fields), { code: 'FST_CONV_ALREADY_REGISTERED' })

  const parent = Fastify()
  for (const prefix of ['/v1', '/v2']) {
    const inChild = async (child: FastifyInstance) => {
      await child.register(fields, { mode: prefix === '/v1' ? 'enforce' : 'off' })
      route(child, '/users/:id', undefined)
    }
    await parent.register(inChild, { prefix })
  }
  route(parent, '/users/:id', undefined)
  t.equal((await parent.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
  t.equal((await parent.inject('/v1/users/1?fields=nope')).statusCode, 400)
  t.equal((await parent.inject('/v2/users/1?fields=nope')).payload, '{"name":"Ada","age":36}')
  t.equal((await parent.inject('/users/1?fields=nope')).payload, '{"name":"Ada","age":36}', 'outside of both')
})

function route(app: FastifyInstance, url: string, config: unknown): void {
  const options = config === undefined ? {} : { config: { fields: config as FieldsRouteOptions | false } }
  const value = { name: 'Ada', age: 36, extra: 1 }
  app.get(url, { schema: { response: { 200: user } }, ...options }, () => value)
}
