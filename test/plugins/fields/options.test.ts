/** Options are checked at boot; `report` changes not one byte of any response, and counts per route what would. */
import Fastify from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { array, object, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' }, a: object({ b: text }) })
const invalid = 'FST_CONV_OPTION_INVALID'

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = await appOf(fields)
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
      const app = await appOf([fields, { mode }])
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

const item = object({ id: { type: 'integer' }, name: text })
const ada = { id: 1, name: 'Ada', extra: 1 }

t.test('requests with a selection are counted per route, and logged once, without values', async (t) => {
  const { logger, lines } = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger }), [fields, { mode: 'report' }])
  const list = object({ users: array(item) })
  const config = { fields: { default: ['id'], hidden: { name: true as const } } }
  app.get('/v1/users/:id', { schema: { response: { 200: item } } }, ({ fields }) => {
    t.equal(fields, null, 'the handler has to read all')
    return ada
  })
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [ada] }))
  app.get('/v1/chosen', { schema: { response: { 200: item } }, config }, () => ada)
  const targets = ['users/1?fields=name', 'users/2?fields=nope', 'users/3', 'users?fields=id']
  for (const target of [...targets, 'chosen', 'chosen?fields=id', 'chosen?fields=nope'])
    await app.inject(`/v1/${target}`)
  const { observations } = app.conventions.report()
  t.strictSame(
    observations.map((one) => [one.rule, one.route, one.effect, one.count, one.requestId]),
    [
      ['projection', 'GET /v1/users/:id', 'changed', 1, 'req-1'],
      ['projection', 'GET /v1/users/:id', 'refused', 1, 'req-2'],
      ['projection', 'GET /v1/users', 'changed', 1, 'req-4'],
      // Once for the default and the selection.
      ['projection', 'GET /v1/chosen', 'changed', 2, 'req-5'],
      ['projection', 'GET /v1/chosen', 'refused', 1, 'req-7'],
    ],
  )
  const logged = lines.filter(({ msg }) => msg === 'convention not kept')
  t.equal(logged.length, 1)
  const line = { convention: 'fields.projection', route: 'GET /v1/users/:id', effect: 'changed' }
  t.match(logged[0], { level: levels.warn, ...line, reqId: 'req-1' })
  t.notMatch(JSON.stringify([logged, observations]), /Ada|nope/)
})

t.test('responses that the default or a hidden field may change are counted', async (t) => {
  const byDefault = { default: ['id'] }
  const hidden = { hidden: { name: true } } as const
  const rows: readonly (readonly [about: string, FieldsRouteOptions, answer: Answer, counted: boolean])[] = [
    ['a default that leaves out', byDefault, {}, true],
    ['hidden', hidden, {}, true],
    ['hidden from this request', { hidden: { name: () => true } }, {}, true],
    ['not hidden from this request', { hidden: { name: () => false } }, {}, false],
    ['a predicate that throws', { hidden: { name: () => JSON.parse('') } }, {}, true],
    ['202, hidden', hidden, { status: 202 }, true],
    ['a string, of which nothing can be hidden', hidden, { value: 'text' }, true],
    ['POST', byDefault, { method: 'POST' }, false],
    ['POST, hidden', hidden, { method: 'POST' }, true],
    ['HEAD', byDefault, { method: 'HEAD' }, true],
  ]
  for (const [about, config, { value = ada, status = 200, method = 'GET' }, counted] of rows) {
    const [bare, app] = [Fastify(), Fastify()]
    await app.register(fields, { mode: 'report' })
    const answers: unknown[] = []
    for (const one of [bare, app]) {
      one.route({
        method: ['GET', 'HEAD', 'POST'],
        url: '/v1/users/:id',
        schema: { response: { 200: item, 202: item, 404: item } },
        config: { fields: config },
        handler: (_, reply) => reply.code(status as 200).send(value as object),
      })
      const { statusCode, payload } = await one.inject({ method, url: '/v1/users/1' })
      answers.push([statusCode, payload])
    }
    t.strictSame(answers[1], answers[0], about)
    const { observations } = app.conventions.report()
    const rule = about === 'a predicate that throws' ? 'error' : 'projection'
    const found = observations.map((one) => [one.rule, one.count])
    t.strictSame(found, counted ? [[rule, 1]] : [], about)
  }
})

interface Answer {
  readonly value?: unknown
  readonly status?: number
  readonly method?: 'GET' | 'HEAD' | 'POST'
}
