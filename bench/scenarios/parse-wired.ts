import Fastify, { type FastifyInstance } from 'fastify'
import { integerTwins } from 'fastify-conventions'
import jsonBigint from 'json-bigint'
import { type BenchRequest, loadScenario } from '../scenario.js'

interface UsersBody {
  readonly users: readonly { readonly id: unknown }[]
}

const firstLargeId = 2n ** 53n + 1n
const withBigInt = jsonBigint({ useNativeBigInt: true })
const text = { type: 'string' }

const long = postOf((index) => firstLargeId + BigInt(index * 7919))
// Neighbours that a Number cannot tell from each other, as a database counts them.
const dense = postOf((index) => 2n ** 60n + BigInt(index))
const short = postOf((index) => 1_000_000n + BigInt(index * 7919))

/** The price of exact integers in a body, as a route pays it: by the parser of the app, a validator, and a handler. */
export default loadScenario({
  title: 'POST of 100 objects with an id, a name and two small members',
  baseline: 'bare',
  requests: [long],
  sameBody: true,
  bounds: {
    twins: { max: 0.5, to: 'jsonBigint' },
    twinsDense: { max: 0.5, to: 'jsonBigint' },
    twinsUndeclared: { max: 1.05, to: 'bareShort' },
  },
  variants: {
    bare: { about: 'Fastify; the ids are beyond 2^53 and lose digits', build: () => bareApp('number') },
    jsonBigint: {
      about: 'Fastify with json-bigint as its JSON parser: to BigInts',
      build: () => withRoute(withJsonBigint(Fastify()), {}),
    },
    twins: { about: 'integerTwins, the ids declared int64: to BigInts', build: twinsApp },
    twinsDense: {
      about: 'the same, the ids neighbours beyond 2^60',
      requests: [dense],
      build: twinsApp,
    },
    bareShort: {
      about: 'Fastify; no number has 16 digits',
      requests: [short],
      build: () => bareApp('number'),
    },
    twinsShort: {
      about: 'integerTwins, the ids declared int64: to BigInts as well',
      requests: [short],
      build: twinsApp,
    },
    twinsUndeclared: {
      about: 'integerTwins, the ids declared integer without a format',
      requests: [short],
      build: async () => withRoute(await withTwins(), { type: 'integer' }),
    },
  },
})

function postOf(idOf: (index: number) => bigint): BenchRequest {
  const users = Array.from(
    { length: 100 },
    (_, index) =>
      `{"id":${idOf(index)},"name":"Customer number ${index}","age":${20 + (index % 50)},"active":${index % 2 === 0}}`,
  )
  return {
    method: 'POST',
    target: '/v1/users',
    headers: { 'content-type': 'application/json' },
    body: `{"users":[${users.join(',')}]}`,
    answer: '{"taken":100}',
  }
}

function bareApp(type: string): FastifyInstance {
  return withRoute(Fastify(), { type })
}

async function twinsApp(): Promise<FastifyInstance> {
  return withRoute(await withTwins(), { type: 'integer', format: 'int64' })
}

async function withTwins(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(integerTwins)
  return app
}

function withJsonBigint(app: FastifyInstance): FastifyInstance {
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => {
    try {
      done(null, withBigInt.parse(body as string))
    } catch (error) {
      done(error as Error)
    }
  })
  return app
}

function withRoute(app: FastifyInstance, id: object): FastifyInstance {
  const user = {
    type: 'object',
    properties: { id, name: text, age: { type: 'integer' }, active: { type: 'boolean' } },
  }
  const body = { type: 'object', required: ['users'], properties: { users: { type: 'array', items: user } } }
  app.post<{ Body: UsersBody }>('/v1/users', { schema: { body } }, async ({ body: { users } }) => ({
    taken: users.length,
  }))
  return app
}
