/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields } from '../../../src/index.js'
import { array, object, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' }, a: object({ b: text }) })
const invalid = 'FST_CONV_OPTION_INVALID'
const unknown = 'FST_CONV_OPTION_UNKNOWN'

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

function route(app: FastifyInstance, url: string, config: unknown): void {
  const options = config === undefined ? {} : { config: { fields: config as FieldsRouteOptions | false } }
  const value = { name: 'Ada', age: 36, extra: 1 }
  app.get(url, { schema: { response: { 200: user } }, ...options }, () => value)
}
