/** With `report` not one byte of any response changes; what would is counted per route. */
import Fastify from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { array, object, text } from './one-route.js'

const user = object({ id: { type: 'integer' }, name: text })
const ada = { id: 1, name: 'Ada', extra: 1 }

t.test('requests with a selection are counted per route, and logged once, without values', async (t) => {
  const { logger, lines } = keepLogs('warn')
  const app = Fastify({ logger })
  await app.register(fields, { mode: 'report' })
  const list = object({ users: array(user) })
  const config = { fields: { default: ['id'], hidden: { name: true as const } } }
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, ({ fields }) => {
    t.equal(fields, null, 'the handler has to read all')
    return ada
  })
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [ada] }))
  app.get('/v1/chosen', { schema: { response: { 200: user } }, config }, () => ada)
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
    ['a predicate that throws', { hidden: { name: () => broken() } }, {}, true],
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
        schema: { response: { 200: user, 202: user, 404: user } },
        config: { fields: config },
        handler: (_, reply) => reply.code(status as 200).send(value as object),
      })
      const { statusCode, payload } = await one.inject({ method, url: '/v1/users/1' })
      answers.push([statusCode, payload])
    }
    t.strictSame(answers[1], answers[0], about)
    const { observations } = app.conventions.report()
    t.equal(observations.length, counted ? 1 : 0, about)
    const rule = about === 'a predicate that throws' ? 'error' : 'projection'
    if (counted) t.match(observations[0], { rule, count: 1 }, about)
    t.notMatch(JSON.stringify(observations), /Ada/, about)
  }
})

interface Answer {
  readonly value?: unknown
  readonly status?: number
  readonly method?: 'GET' | 'HEAD' | 'POST'
}

function broken(): boolean {
  throw new Error('no such caller')
}
