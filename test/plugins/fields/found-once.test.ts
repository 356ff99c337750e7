/** Faults that tests found once in the selection of fields. */
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { type FieldsRouteOptions, fields, integerTwins } from '../../../src/index.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const object = (properties: object): object => ({ type: 'object', properties })

interface Options {
  readonly config?: FieldsRouteOptions
  readonly twins?: boolean
  readonly code?: number
  readonly url?: string
}

async function answer(query: string, response: object | undefined, value: unknown, options: Options = {}) {
  const { config, twins = true, code = 200, url = '/v1/users/:id' } = options
  const app = Fastify()
  await app.register(fields)
  if (twins) await app.register(integerTwins)
  const given = config === undefined ? {} : { config: { fields: config } }
  app.get(url, { ...(response === undefined ? {} : { schema: { response } }), ...given }, (_, reply) =>
    reply.code(code as 200).send(value),
  )
  const { statusCode, payload } = await app.inject(url.replace(':id', '1') + query)
  return { status: statusCode, body: payload }
}

const secret = { name: 'Ada', password: 'p' }
const closed = object({ name: text, password: text })

t.test('a hidden twin is hidden with its number, or refused at boot', async (t) => {
  const { body } = await answer(
    '',
    { 200: object({ id, name: text }) },
    { id: 5, name: 'Ada' },
    { config: { hidden: { id_str: true } } },
  ).catch(() => ({ body: 'refused' }))
  t.notMatch(body, 'id_str')
})

t.test('a hidden field is refused like an unknown one', async (t) => {
  const user = { 200: object({ id, name: text, secret: text, address: object({ city: text }) }) }
  const told = async (query: string, hidden: Record<string, true>): Promise<string> =>
    (await answer(query, user, {}, { config: { hidden } })).body.replaceAll(/"instance":"[^"]*"/g, '')
  const like = async (
    t: Test,
    asked: string,
    unknown: string,
    hidden: Record<string, true>,
  ): Promise<void> => {
    const [received, expected] = [
      await told(`?fields=${asked}`, hidden),
      await told(`?fields=${unknown}`, hidden),
    ]
    const [from, to] = [unknown.split(',')[0] ?? '', asked.split(',')[0] ?? '']
    t.equal(received, expected.replaceAll(from, to), asked)
  }
  await like(t, 'secret,zzz', 'nope,zzz', { secret: true })
  await like(t, 'secret.x', 'nope.x', { secret: true })
  await like(t, 'address.x', 'nope.x', { address: true })
  await like(t, 'id_str', 'no_str', { id: true })
})

t.test(
  'if any members are allowed, only own enumerable properties are sent, as in the full response',
  async (t) => {
    class User {
      readonly name = 'Ada'
      get passwordHash(): string {
        return 'hash'
      }
      save(): void {}
    }
    const value = Object.defineProperty(new User(), 'concealed', { value: 'x', enumerable: false })
    const open = { 200: { ...object({ id }), additionalProperties: true } }
    t.equal((await answer('', open, value)).body, '{"name":"Ada"}')
    for (const name of ['passwordHash', 'save', 'concealed'])
      t.equal((await answer(`?fields=${name}`, open, value)).body, '{}', name)
  },
)

t.test('members beside a list stay, also those that the schema does not name', async (t) => {
  const list = {
    200: {
      ...object({ users: { type: 'array', items: object({ name: text }) } }),
      additionalProperties: true,
    },
  }
  const { body } = await answer(
    '?fields=name',
    list,
    { users: [{ name: 'Ada' }], page: 2 },
    { url: '/v1/users' },
  )
  t.equal(body, '{"users":[{"name":"Ada"}],"page":2}')
})

t.test(
  'without the twins plugin (or with config.integerTwins: false) id_str is a field like any other',
  async (t) => {
    const both = { 200: object({ id, id_str: text, n: id }) }
    const value = { id: 5, id_str: '5', n: 1 }
    t.equal((await answer('?fields=id_str', both, value, { twins: false })).body, '{"id_str":"5"}')
    t.equal((await answer('?fields=id,id_str', both, value, { twins: false })).body, '{"id":5,"id_str":"5"}')
    t.equal((await answer('?fields=n_str', both, value, { twins: false })).status, 400)
    t.equal(
      (await answer('', both, value, { twins: false, config: { hidden: { n: true } } })).body,
      '{"id":5,"id_str":"5"}',
    )
  },
)

t.test('two valid names are valid together', async (t) => {
  const either = {
    200: object({ o: { anyOf: [object({ p: object({ x: text }) }), object({ p: object({ y: text }) })] } }),
  }
  t.equal((await answer('?fields=o.p.x', either, {})).status, 200)
  t.equal((await answer('?fields=o.p.y', either, {})).status, 200)
  t.equal((await answer('?fields=o.p.x,o.p.y', either, {})).status, 200)
})

t.test('GET and HEAD of a route with several methods have the same projection', async (t) => {
  const app = Fastify()
  await app.register(fields)
  app.route({
    method: ['GET', 'POST'],
    url: '/v1/users/:id',
    schema: { response: { 200: closed } },
    handler: () => secret,
  })
  const [get, head] = await Promise.all(
    (['GET', 'HEAD'] as const).map((method) => app.inject({ method, url: '/v1/users/1?fields=name' })),
  )
  t.equal(get?.payload, '{"name":"Ada"}')
  t.equal(head?.headers['content-length'], get?.headers['content-length'])
})
