/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type FieldsOptions, type FieldsRouteOptions, fields } from '../../../src/index.js'

const text = { type: 'string' }
const user = {
  type: 'object',
  properties: { name: text, age: { type: 'integer' }, a: { type: 'object', properties: { b: text } } },
}

t.test('invalid options are refused at registration, by their name', async (t) => {
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ mode: 'warn' }, 'FST_CONV_OPTION_INVALID', /fields\.mode.*'enforce', 'report', 'off'/],
    [{ default: ['name'] }, 'FST_CONV_OPTION_UNKNOWN', /fields\.default/],
    [{ max: 5 }, 'FST_CONV_OPTION_UNKNOWN', /fields\.max/],
  ]
  for (const [options, code, message] of wrong) {
    await t.rejects(async () => Fastify().register(fields, options as FieldsOptions), { code, message })
  }
})

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const wrong: readonly (readonly [config: unknown, code: string, message: RegExp])[] = [
    [
      true,
      'FST_CONV_OPTION_INVALID',
      /GET \/v1\/users\/:id config\.fields: expected an object or false, received true/,
    ],
    [null, 'FST_CONV_OPTION_INVALID', /config\.fields/],
    ['name', 'FST_CONV_OPTION_INVALID', /config\.fields/],
    [{ default: 'name' }, 'FST_CONV_OPTION_INVALID', /config\.fields\.default/],
    [{ default: ['name', ''] }, 'FST_CONV_OPTION_INVALID', /config\.fields\.default\[1\]/],
    [{ hidden: ['name'] }, 'FST_CONV_OPTION_INVALID', /config\.fields\.hidden/],
    [{ hidden: null }, 'FST_CONV_OPTION_INVALID', /config\.fields\.hidden/],
    [{ hidden: { name: 'yes' } }, 'FST_CONV_OPTION_INVALID', /config\.fields\.hidden\['name'\].*'yes'/],
    [{ hidden: { name: false } }, 'FST_CONV_OPTION_INVALID', /config\.fields\.hidden\['name'\]/],
    [{ fields: [] }, 'FST_CONV_OPTION_UNKNOWN', /config\.fields\.fields/],
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
    await t.rejects(
      async () => app.ready(),
      { code: 'FST_CONV_OPTION_INVALID', message },
      JSON.stringify(config),
    )
  }
})

t.test('a default or hidden field on a route without selection fails the boot', async (t) => {
  const text = { type: 'string' }
  const schemas: readonly (object | undefined)[] = [
    undefined,
    { response: { 404: user } },
    { response: { 200: text } },
    { response: { 200: { type: 'array', items: text } } },
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
      const invalid = { code: 'FST_CONV_OPTION_INVALID' }
      await t.rejects(boot({ default: ['name'] }), invalid, label)
      await t.rejects(boot({ hidden: { name: true } }), invalid, label)
    }
  }
})

t.test('the options of a route replace those of the plugin', async (t) => {
  const app = Fastify()
  await app.register(fields, { mode: 'report' })
  route(app, '/v1/counted/:id', undefined)
  route(app, '/v1/enforced/:id', { mode: 'enforce' })
  route(app, '/v1/off/:id', false)
  const rows: readonly (readonly [target: string, status: number])[] = [
    ['/v1/counted/1?fields=nope', 200],
    ['/v1/enforced/1?fields=name', 200],
    ['/v1/enforced/1?fields=nope', 400],
    ['/v1/off/1?fields=nope,nope', 200],
  ]
  for (const [target, status] of rows) t.equal((await app.inject(target)).statusCode, status, target)
})

t.test('the parameter has bounds', async (t) => {
  const app = Fastify()
  await app.register(fields)
  route(app, '/v1/users/:id', undefined)
  for (const [names, detail] of [
    [Array.from({ length: 65 }, () => 'name').join(), /64 names/],
    ['name'.repeat(300), /1024 characters/],
    ['a.b.c.d.e', /deeper than 4/],
  ] as const) {
    const response = await app.inject(`/v1/users/1?fields=${names}`)
    t.equal(response.statusCode, 400)
    t.match(response.json().detail, detail)
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
    await parent.register(
      async (child) => {
        await child.register(fields, { mode: prefix === '/v1' ? 'enforce' : 'off' })
        route(child, '/users/:id', undefined)
      },
      { prefix },
    )
  }
  route(parent, '/users/:id', undefined)
  t.equal((await parent.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
  t.equal((await parent.inject('/v1/users/1?fields=nope')).statusCode, 400)
  t.equal((await parent.inject('/v2/users/1?fields=nope')).payload, '{"name":"Ada","age":36}')
  t.equal((await parent.inject('/users/1?fields=nope')).payload, '{"name":"Ada","age":36}', 'outside of both')
})

t.test('child contexts are served too', async (t) => {
  const app = Fastify()
  await app.register(fields)
  await app.register(async (child) => route(child, '/v1/users/:id', { default: ['age'] }))
  t.equal((await app.inject('/v1/users/1')).payload, '{"age":36}')
})

t.test('mode off: the parameter is not read', async (t) => {
  const app = Fastify()
  await app.register(fields, { mode: 'off' })
  route(app, '/v1/users/:id', undefined)
  t.equal((await app.inject('/v1/users/1?fields=nope')).payload, '{"name":"Ada","age":36}')
})

function route(app: FastifyInstance, url: string, config: unknown): void {
  const options = config === undefined ? {} : { config: { fields: config as FieldsRouteOptions | false } }
  app.get(url, { schema: { response: { 200: user } }, ...options }, () => ({
    name: 'Ada',
    age: 36,
    extra: 1,
  }))
}
