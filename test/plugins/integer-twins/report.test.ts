/** With `report` not one byte of any response changes; what would is counted per route. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { exchange, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const id = { type: 'integer', format: 'int64' }
const answers: Readonly<Record<string, { readonly schema?: object; readonly value: unknown }>> = {
  declared: { schema: { type: 'object', properties: { id } }, value: { id: 2n ** 60n } },
  small: { schema: { type: 'object', properties: { id } }, value: { id: 5 } },
  text: { schema: { type: 'object', properties: { id } }, value: { id: '9007199254740993' } },
  lost: { schema: { type: 'object', properties: { id } }, value: { id: 2 ** 60 } },
  array: {
    schema: { type: 'object', properties: { ids: { type: 'array', items: id } } },
    value: { ids: [1n] },
  },
  refused: {
    schema: { anyOf: [{ type: 'object', properties: { id: { type: 'integer' } } }] },
    value: { id: 5n },
  },
  schemaless: { value: { a: [{ id: 2n ** 60n }] } },
  rounded: { value: { a: [{ id: 2 ** 60 }] } },
  bigint: { value: { id: 5n } },
  nothing: { value: { id: 5 } },
}

t.test('byte for byte as without the plugin', async (t) => {
  const reporting = Fastify()
  await reporting.register(integerTwins, { mode: 'report' })
  const [bare, reported] = [await serve(t, routes(Fastify())), await serve(t, routes(reporting))]
  for (const name of Object.keys(answers)) {
    for (const method of ['GET', 'HEAD']) {
      const request = requestBytes(method, `/v1/${name}`)
      const [expected, received] = [
        await exchange(bare.port, request),
        await exchange(reported.port, request),
      ]
      t.equal(withoutDate(received), withoutDate(expected), `${method} ${name}`)
    }
  }
})

t.test(
  'integers that would get a twin are counted per route, and logged once, without the value',
  async (t) => {
    const logs = keepLogs('warn')
    const app = Fastify({ logger: logs.logger })
    await app.register(integerTwins, { mode: 'report' })
    routes(app)
    for (const name of ['declared', 'declared', 'schemaless', 'rounded', 'nothing'])
      await app.inject(`/v1/${name}`)

    const { observations } = app.conventions.report()
    t.match(observations, [
      {
        plugin: 'integerTwins',
        rule: 'twin',
        route: 'GET /v1/declared',
        count: 2,
        example: 'integers would get twins',
        requestId: 'req-1',
      },
      {
        plugin: 'integerTwins',
        rule: 'twin',
        route: 'GET /v1/schemaless',
        count: 1,
        example: 'integers would get twins',
        requestId: 'req-3',
      },
    ])
    t.equal(observations.length, 2)
    const lines = logs.lines.filter(({ msg }) => msg === 'convention not kept')
    t.strictSame(
      lines.map(({ route, level }) => [route, level]),
      [['GET /v1/declared', levels.warn]],
    )
    t.notMatch(JSON.stringify([lines, observations]), /11529215046068/)
  },
)

t.test('lost digits are counted as lost-digits', async (t) => {
  const app = Fastify()
  await app.register(integerTwins, { mode: 'report' })
  const properties = { id, other: { type: 'integer' } }
  app.get('/v1/lost', { schema: { response: { 200: { type: 'object', properties } } } }, () => ({
    id: 2 ** 60,
  }))
  app.get('/v1/both', { schema: { response: { 200: { type: 'object', properties } } } }, () => ({
    id: 2 ** 60,
    other: 2n ** 61n,
  }))
  for (const name of ['lost', 'both']) await app.inject(`/v1/${name}`)
  const told = app.conventions.report().observations.map(({ rule, route, example }) => [route, rule, example])
  const lost =
    'a declared 64-bit integer is a Number beyond 2^53: its digits are lost; hand over a BigInt or a string'
  t.strictSame(told, [
    ['GET /v1/lost', 'lost-digits', lost],
    ['GET /v1/both', 'lost-digits', lost],
  ])
})

t.test('a declared integer that is small would get a twin too', async (t) => {
  const app = Fastify()
  await app.register(integerTwins, { mode: 'report' })
  routes(app)
  await app.inject('/v1/small')
  t.match(app.conventions.report().observations, [{ rule: 'twin', example: 'integers would get twins' }])
})

t.test('a route may enforce in an app that reports, and vice versa', async (t) => {
  const schema = { response: { 200: { type: 'object', properties: { id } } } }
  for (const [mode, own] of [
    ['report', 'enforce'],
    ['enforce', 'report'],
  ] as const) {
    const app = Fastify()
    await app.register(integerTwins, { mode })
    app.get('/v1/plain', { schema }, () => ({ id: 5 }))
    app.get('/v1/own', { schema, config: { integerTwins: { mode: own } } }, () => ({ id: 5 }))
    for (const [url, enforced] of [
      ['/v1/plain', mode === 'enforce'],
      ['/v1/own', own === 'enforce'],
    ] as const) {
      t.equal(
        (await app.inject(url)).payload,
        enforced ? '{"id":5,"id_str":"5"}' : '{"id":5}',
        `${mode}: ${url}`,
      )
    }
  }
})

function routes(app: FastifyInstance): FastifyInstance {
  for (const [name, { schema, value }] of Object.entries(answers)) {
    app.get(
      `/v1/${name}`,
      schema === undefined ? {} : { schema: { response: { 200: schema } } },
      (_, reply) => reply.send(value),
    )
  }
  return app
}

function withoutDate(bytes: string): string {
  return bytes.replace(/\r\ndate: [^\r]+/i, '')
}
