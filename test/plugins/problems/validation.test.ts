import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

/** A body or header that a schema refuses, and the issues that tell why. */
interface Case {
  readonly about: string
  readonly schema: object
  readonly sent: unknown
  readonly issues: readonly unknown[]
}

const inBody = (pointer: string, message: string): object => ({ in: 'body', pointer, message })

const bodies: readonly Case[] = [
  {
    about: 'a member that is missing',
    schema: { required: ['name'] },
    sent: {},
    issues: [inBody('/name', 'is required')],
  },
  {
    about: 'a member that is not known',
    schema: { properties: {}, additionalProperties: false },
    sent: { x: 1 },
    issues: [inBody('/x', 'is not known here')],
  },
  {
    about: 'a member of the wrong type',
    schema: { properties: { age: { type: 'integer' } } },
    sent: { age: 'old' },
    issues: [inBody('/age', 'must be integer')],
  },
  {
    about: 'a value that is none of the allowed ones',
    schema: { properties: { status: { enum: ['pending', 'paid'] } } },
    sent: { status: 'lost' },
    issues: [inBody('/status', 'must be one of pending, paid')],
  },
  {
    about: 'an item of an array in an object',
    schema: { properties: { items: { type: 'array', items: { required: ['sku'] } } } },
    sent: { items: [{ sku: 'a' }, {}] },
    issues: [inBody('/items/1/sku', 'is required')],
  },
  {
    about: 'a member with a slash and a tilde in its name, RFC 6901 §3',
    schema: { properties: { 'a/b': { properties: { 'c~d': { type: 'integer' } } } } },
    sent: { 'a/b': { 'c~d': 'x' } },
    issues: [inBody('/a~1b/c~0d', 'must be integer')],
  },
  {
    about: 'a missing member with a slash and a tilde in its name',
    schema: { required: ['a/b~c'] },
    sent: {},
    issues: [inBody('/a~1b~0c', 'is required')],
  },
  {
    about: 'a missing member whose name looks escaped already',
    schema: { required: ['~1'] },
    sent: {},
    issues: [inBody('/~01', 'is required')],
  },
  {
    about: 'a member with an empty name',
    schema: { properties: { '': { type: 'integer' } } },
    sent: { '': 'x' },
    issues: [inBody('/', 'must be integer')],
  },
  {
    about: 'a body that is an array',
    schema: { type: 'object' },
    sent: [],
    issues: [inBody('', 'must be object')],
  },
]

t.test('an invalid body is refused with JSON Pointers to the faults', async (t) => {
  const app = await appWith({ ajv: { customOptions: { removeAdditional: false } } })
  for (const [index, { schema }] of bodies.entries()) {
    app.post(`/v1/cases/${index}`, { schema: { body: { type: 'object', ...schema } } }, async () => ({}))
  }

  for (const [index, { about, sent, issues }] of bodies.entries()) {
    const response = await app.inject({
      method: 'POST',
      url: `/v1/cases/${index}`,
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(sent),
    })
    isProblem(
      t,
      injected(response),
      { status: 400, code: 'validation', title: 'Invalid input', errors: issues },
      about,
    )
  }
})

t.test('all faults are sent if the validator finds all of them, at most 50', async (t) => {
  const app = await appWith({ ajv: { customOptions: { allErrors: true } } })
  const names = Array.from({ length: 60 }, (_, index) => `n${index}`)
  app.post('/v1/users', { schema: { body: { type: 'object', required: names } } }, async () => ({}))
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload: {} })

  const expected = names.slice(0, 50).map((name) => inBody(`/${name}`, 'is required'))
  isProblem(t, injected(response), { status: 400, code: 'validation', errors: expected })
})

t.test('query, path and header are refused by name', async (t) => {
  const app = await appWith()
  const integer = { type: 'integer' }
  const schema = {
    querystring: { type: 'object', required: ['page'], properties: { page: integer, 'a/b~c': integer } },
    params: { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } },
    headers: { type: 'object', required: ['x-key'], properties: { 'x-count': integer } },
  }
  app.get('/v1/users/:id', { schema }, async () => ({}))
  const table = [
    ['/v1/users/abc?page=1', {}, { in: 'path', name: 'id', message: 'must be integer' }],
    ['/v1/users/0?page=1', {}, { in: 'path', name: 'id', message: 'must be >= 1' }],
    ['/v1/users/1', {}, { in: 'query', name: 'page', message: 'is required' }],
    ['/v1/users/1?page=x', {}, { in: 'query', name: 'page', message: 'must be integer' }],
    ['/v1/users/1?page=1&a%2Fb~c=x', {}, { in: 'query', name: 'a/b~c', message: 'must be integer' }],
    ['/v1/users/1?page=1', {}, { in: 'header', name: 'x-key', message: 'is required' }],
    [
      '/v1/users/1?page=1',
      { 'x-count': 'x', 'x-key': 'k' },
      { in: 'header', name: 'x-count', message: 'must be integer' },
    ],
  ] as const

  for (const [url, headers, issue] of table) {
    const answer = injected(await app.inject({ url, headers }))
    isProblem(t, answer, { status: 400, code: 'validation', errors: [issue] }, `${issue.in} ${issue.name}`)
  }
})

t.test('the detail says where each fault is, and names the member', async (t) => {
  const app = await appWith({ ajv: { customOptions: { allErrors: true, removeAdditional: false } } })
  const name = { type: 'string', pattern: '^[a-z]+(secret)?$' }
  const body = { type: 'object', required: ['id'], properties: { name, id: {} }, additionalProperties: false }
  const querystring = { type: 'object', properties: { page: { type: 'integer' } } }
  app.post('/v1/users', { schema: { body, querystring } }, async () => ({}))
  const table = [
    [
      '/v1/users',
      { name: '7', x: 1 },
      'body/id is required, body/x is not known here, body/name must match the',
    ],
    ['/v1/users?page=x', { id: 1 }, 'query/page must be integer'],
  ] as const
  for (const [url, payload, detail] of table) {
    const response = await app.inject({ method: 'POST', url, payload })
    const document = isProblem(t, injected(response), { status: 400, code: 'validation' }, url)
    t.match(document.detail, detail)
    t.notMatch(response.payload, 'secret', 'no regular expression')
  }
})

t.test('errors of another validator are sent with the details that it has', async (t) => {
  const app = await appWith()
  const validatorCompiler = () => () => ({ error: new Error('no name') })
  app.post('/v1/users', { validatorCompiler, schema: { body: { type: 'object' } } }, async () => ({}))
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload: {} })

  t.equal(response.statusCode, 400)
  t.match(response.json(), { detail: /no name/, status: 400 })
})

t.test('a schema error formatter of the app is used', async (t) => {
  const app = await appWith({ schemaErrorFormatter: () => new Error('look it up') })
  app.post('/v1/users', { schema: { body: { type: 'object', required: ['name'] } } }, async () => ({}))
  const answer = injected(await app.inject({ method: 'POST', url: '/v1/users', payload: {} }))

  isProblem(t, answer, {
    status: 400,
    code: 'validation',
    detail: 'look it up',
    errors: [inBody('/name', 'is required')],
  })
})

t.test('with attachValidation the handler decides', async (t) => {
  const app = await appWith()
  const schema = { body: { type: 'object', required: ['name'] } }
  app.post('/v1/users', { schema, attachValidation: true }, async (request) => ({
    seen: request.validationError?.validationContext,
  }))
  app.post('/v1/orders', { schema, attachValidation: true }, async (request) =>
    Promise.reject(request.validationError),
  )

  t.strictSame((await app.inject({ method: 'POST', url: '/v1/users', payload: {} })).json(), { seen: 'body' })
  const answer = injected(await app.inject({ method: 'POST', url: '/v1/orders', payload: {} }))
  isProblem(t, answer, { status: 400, code: 'validation', errors: [inBody('/name', 'is required')] })
})

t.test('a body with very many faults has a bounded response and a bounded log line', async (t) => {
  const logs = keepLogs('info')
  const app = await appWith({ ajv: { customOptions: { allErrors: true } }, logger: logs.logger })
  const body = { type: 'array', items: { type: 'integer' } }
  app.post('/v1/users', { schema: { body } }, async () => ({}))
  const payload = Array.from({ length: 20_000 }, () => 'x')
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload })

  const { errors } = isProblem(t, injected(response), { status: 400, code: 'validation', detail: /…$/ })
  t.equal((errors as unknown[]).length, 50)
  t.ok(response.payload.length < 10_000, 'the answer')
  const line = logs.lines.find(({ msg }) => msg?.endsWith('…'))
  t.match(line, { level: levels.info, err: { code: 'validation' }, res: { statusCode: 400 } })
  t.ok(JSON.stringify(line).length < 10_000, 'the line')
})

t.test('a long name in a body is cut, and appears once in the response and in the log', async (t) => {
  const logs = keepLogs('info')
  const customOptions = { allErrors: true, removeAdditional: false } as const
  const app = await appWith({ ajv: { customOptions }, logger: logs.logger })
  const map = { type: 'object', additionalProperties: { type: 'array', items: { type: 'integer' } } }
  const closed = { type: 'object', properties: {}, additionalProperties: false }
  const names = { type: 'object', propertyNames: { pattern: '^[a-z]{1,9}$' } }
  for (const [url, body] of Object.entries({ map, closed, names })) {
    app.post(`/v1/${url}`, { schema: { body } }, async () => ({}))
  }
  const long = 'k'.repeat(900_000)
  const table = [
    ['/v1/map', { [long]: Array.from({ length: 60 }, () => 'x') }],
    [
      '/v1/map',
      Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`${'k'.repeat(90)}${index}`, ['x']])),
    ],
    ['/v1/closed', { [long]: 1 }],
    ['/v1/names', { [long]: 1 }],
  ] as const
  for (const [url, payload] of table) {
    const response = await app.inject({ method: 'POST', url, payload })
    isProblem(t, injected(response), { status: 400, code: 'validation', detail: /^body\/kk/ }, url)
    t.ok(response.payload.length < 20_000, `${url}: ${response.payload.length} characters are answered`)
  }
  t.ok(
    JSON.stringify(logs.lines).length < 50_000,
    `${JSON.stringify(logs.lines).length} characters are logged`,
  )
})

async function appWith(options: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = Fastify(options)
  await app.register(problems)
  return app
}
