/** With `report` not one byte of any response changes; what would is counted per route. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { int64 as id, objectOf as object } from './input/support.js'

const answers: Readonly<Record<string, readonly [value: unknown, schema?: object]>> = {
  declared: [{ id: 2n ** 60n }, object({ id })],
  schemaless: [{ a: [{ id: 2n ** 60n }] }],
  rounded: [{ a: [{ id: 2 ** 60 }] }],
  nothing: [{ id: 5 }],
  absent: [{}, object({ id })],
  small: [{ id: 5 }, object({ id })],
  lost: [{ id: 2 ** 60 }, object({ id })],
  both: [{ id: 2 ** 60, other: 2n ** 61n }, object({ id, other: { type: 'integer' } })],
}

t.test('integers that would get a twin are counted per route, and logged without their value', async (t) => {
  const { logger, lines } = keepLogs('warn')
  const app = await withPlugins(Fastify({ logger }), [integerTwins, { mode: 'report' }])
  for (const [name, [value, schema]] of Object.entries(answers)) {
    const options = schema === undefined ? {} : { schema: { response: { 200: schema } } }
    app.get(`/v1/${name}`, options, (_, reply) => reply.send(value))
  }
  for (const name of ['declared', ...Object.keys(answers)]) {
    const { payload } = await app.inject(`/v1/${name}`)
    if (name === 'lost') t.equal(payload, '{"id":1152921504606847000}', 'as without the plugin')
  }
  const { observations } = app.conventions.report()
  const twin = { rule: 'twin', count: 1, example: 'integers would get twins' }
  const lost = { rule: 'lost-digits', status: 500, count: 1, example: /digits are lost/ }
  t.match(observations, [
    { ...twin, route: 'GET /v1/declared', count: 2, requestId: 'req-1' },
    { ...twin, route: 'GET /v1/schemaless', requestId: 'req-3' },
    { ...twin, route: 'GET /v1/small' },
    { ...lost, route: 'GET /v1/lost' },
    { ...lost, route: 'GET /v1/both' },
  ])
  t.equal(observations.length, 5)
  const logged = lines.filter(({ msg }) => msg === 'convention not kept')
  t.match(logged[0], { route: 'GET /v1/declared', level: levels.warn, convention: 'integerTwins.twin' })
  t.match(logged, [{ convention: 'integerTwins.twin' }, { convention: 'integerTwins.lost-digits' }])
  t.equal(logged.length, 2)
  t.notMatch(JSON.stringify([logged, observations]), /11529215046068/)
})

t.test('requests with integers that would be BigInts, or refused, are counted and not changed', async (t) => {
  const app = await appOf([integerTwins, { mode: 'report' }])
  app.post('/v1/users', { schema: { body: object({ id, note: {} }) } }, async ({ body }) => body)
  app.get('/v1/users', { schema: { querystring: object({ id }) } }, async ({ query }) => query)
  for (const payload of [{ note: 5 }, { note: '_str' }, { id: 5 }, { id: 5, id_str: '6' }])
    t.strictSame((await app.inject({ method: 'POST', url: '/v1/users', payload })).json(), payload)
  t.same((await app.inject('/v1/users?id=5')).json(), { id: 5 })
  const { observations } = app.conventions.report()
  const counted = observations.map(({ rule, effect, count }) => `${rule} ${effect} ${count}`)
  t.strictSame(counted, ['input changed 2', 'input refused 1', 'input changed 1'])
})

t.test('a route may have another mode than the app', async (t) => {
  const schema = { response: { 200: object({ id }) } }
  const answered: string[] = []
  for (const [mode, own] of [['report', 'enforce'] as const, ['enforce', 'report'] as const]) {
    const app = await appOf([integerTwins, { mode }])
    app.get('/v1/own', { schema, config: { integerTwins: { mode: own } } }, () => ({ id: 5 }))
    const config = { integerTwins: { mode: 'warn' } }
    // @ts-expect-error: no such mode
    t.throws(() => app.get('/v1/users', { config }, () => 1), { code: 'FST_CONV_OPTION_INVALID' })
    answered.push((await app.inject('/v1/own')).payload)
  }
  t.strictSame(answered, ['{"id":5,"id_str":"5"}', '{"id":5}'])
})
