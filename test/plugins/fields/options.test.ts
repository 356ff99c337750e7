/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields } from '../../../src/index.js'
import { array, object, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' }, a: object({ b: text }) })
const invalid = 'FST_CONV_OPTION_INVALID'

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const rows: readonly (readonly [config: unknown, message: RegExp, code?: string])[] = [
    [true, /GET \/v1\/users\/:id config\.fields: expected an object or false, received true/],
    [{ default: 'name' }, /config\.fields\.default/],
    [{ default: ['name', ''] }, /config\.fields\.default\[1\]/],
    [{ hidden: ['name'] }, /config\.fields\.hidden/],
    [{ hidden: null }, /config\.fields\.hidden/],
    [{ hidden: { name: 'yes' } }, /config\.fields\.hidden\['name'\].*'yes'/],
    [{ hidden: { name: false } }, /config\.fields\.hidden\['name'\]/],
    [{ fields: [] }, /config\.fields\.fields/, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  for (const [config, message, code = invalid] of rows) {
    const options = { schema: { response: { 200: user } }, config: { fields: config as FieldsRouteOptions } }
    t.throws(() => app.get('/v1/users/:id', options, () => ''), { code, message }, JSON.stringify(config))
  }
})

t.test('defaults and hidden fields that cannot apply to the route fail the boot', async (t) => {
  const hidesName = { hidden: { name: true } } as const
  const selectsName = { default: ['name'] }
  type Row = readonly [FieldsRouteOptions, message: RegExp, response?: object | null, method?: 'GET' | 'POST']
  const rows: readonly Row[] = [
    [{ default: ['name', 'nope'] }, /default: expected fields of the response schema.*'nope'/],
    [{ default: ['a.nope'] }, /default.*'a\.nope'/],
    [{ default: ['*'] }, /default.*'\*'/],
    [{ default: ['__proto__'] }, /default.*'__proto__'/],
    [{ hidden: { password: true } }, /hidden: expected fields of the response schema.*'password'/],
    [{ hidden: { 'name.x': true } }, /hidden.*'name\.x'/],
    [{ hidden: { nope: true } }, /hidden: expected fields of the response schema/, { 201: user }, 'POST'],
    [hidesName, /hidden: expected none/, { 204: { type: 'null' } }, 'POST'],
    [selectsName, /default: expected a route that answers GET/, { 200: user }, 'POST'],
    ...[null, { 404: user }, { 200: text }, { 200: array(text) }, { 200: {} }].flatMap((response) => [
      [selectsName, /config\.fields\.default/, response] as const,
      [hidesName, /config\.fields\.hidden/, response] as const,
    ]),
  ]
  for (const [config, message, response = { 200: user }, method = 'GET'] of rows) {
    for (const mode of ['enforce', 'report'] as const) {
      const app = Fastify()
      await app.register(fields, { mode })
      const boot = async () => {
        const schema = response === null ? {} : { response }
        app.route({ method, url: '/v1/users/:id', schema, config: { fields: config }, handler: () => '' })
        await app.ready()
      }
      const about = `${mode} ${JSON.stringify([config, response])}`
      await t.rejects(boot, { code: invalid, message }, about)
    }
  }
})
