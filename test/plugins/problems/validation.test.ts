import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const inBody = (pointer: string, message: string): object => ({ in: 'body', pointer, message })
const integer = { type: 'integer' }
const needsSku = { type: 'array', items: { required: ['sku'] } }

const bodies: readonly (readonly [about: string, schema: object, sent: unknown, issue: object])[] = [
  ['a member that is missing', { required: ['name'] }, {}, inBody('/name', 'is required')],
  ['an unknown member', { additionalProperties: false }, { x: 1 }, inBody('/x', 'is not known here')],
  ['a wrong type', { properties: { a: integer } }, { a: 'old' }, inBody('/a', 'must be integer')],
  ['none of these', { properties: { a: { enum: [1, 2] } } }, { a: 3 }, inBody('/a', 'must be one of 1, 2')],
  ['an item', { properties: { a: needsSku } }, { a: [{ sku: 1 }, {}] }, inBody('/a/1/sku', 'is required')],
  [
    'a member with a slash and a tilde in its name, RFC 6901 §3',
    { properties: { 'a/b': { properties: { 'c~d': integer } } } },
    { 'a/b': { 'c~d': 'x' } },
    inBody('/a~1b/c~0d', 'must be integer'),
  ],
  ['a missing one with such a name', { required: ['a/b~c'] }, {}, inBody('/a~1b~0c', 'is required')],
  ['a name that looks escaped', { required: ['~1'] }, {}, inBody('/~01', 'is required')],
  ['an empty name', { properties: { '': integer } }, { '': 'x' }, inBody('/', 'must be integer')],
  ['an array', {}, [], inBody('', 'must be object')],
]

t.test('an invalid body is refused with JSON Pointers to the faults', async (t) => {
  const app = await appWith({ ajv: { customOptions: { removeAdditional: false } } })
  for (const [index, [, schema]] of bodies.entries())
    app.post(`/v1/${index}`, { schema: { body: { type: 'object', ...schema } } }, async () => ({}))
  const headers = { 'content-type': 'application/json' }
  for (const [index, [about, , sent, issue]] of bodies.entries()) {
    const payload = JSON.stringify(sent)
    const response = await app.inject({ method: 'POST', url: `/v1/${index}`, headers, payload })
    const expected = { status: 400, code: 'validation', title: 'Invalid input', errors: [issue] }
    isProblem(t, injected(response), expected, about)
  }
})

t.test('query, path and header are refused by name', async (t) => {
  const app = await appWith()
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
  const querystring = { type: 'object', properties: { page: integer } }
  app.post('/v1/users', { schema: { body, querystring } }, async () => ({}))
  for (const [url, payload, detail] of [
    [
      '/v1/users',
      { name: '7', x: 1 },
      /^body\/id is required, body\/x is not known here, body\/name must match the/,
    ],
    ['/v1/users?page=x', { id: 1 }, /^query\/page must be integer/],
  ] as const) {
    const response = await app.inject({ method: 'POST', url, payload })
    isProblem(t, injected(response), { status: 400, code: 'validation', detail }, url)
    t.notMatch(response.payload, 'secret', 'no regular expression')
  }
})

t.test('errors of another validator, of a formatter of the app, and of attachValidation', async (t) => {
  const app = await appWith({ schemaErrorFormatter: () => new Error('look it up') })
  const schema = { body: { type: 'object', required: ['name'] } }
  const validatorCompiler = () => () => ({ error: new Error('no name') })
  app.post('/v1/validator', { validatorCompiler, schema }, async () => ({}))
  app.post('/v1/formatter', { schema }, async () => ({}))
  app.post('/v1/seen', { schema, attachValidation: true }, async ({ validationError }) => ({
    seen: validationError?.validationContext,
  }))
  app.post('/v1/attached', { schema, attachValidation: true }, async (request) =>
    Promise.reject(request.validationError),
  )
  const post = (path: string) => app.inject({ method: 'POST', url: `/v1/${path}`, payload: {} })
  const ofValidator = await post('validator')
  t.equal(ofValidator.statusCode, 400)
  t.match(ofValidator.json(), { detail: /no name/, status: 400 })
  t.strictSame((await post('seen')).json(), { seen: 'body' }, 'the handler decides')
  for (const path of ['formatter', 'attached']) {
    const errors = [inBody('/name', 'is required')]
    const expected = { status: 400, code: 'validation', detail: 'look it up', errors }
    isProblem(t, injected(await post(path)), expected, path)
  }
})

t.test('of very many faults 50 are sent, and the response and the log line are bounded', async (t) => {
  const logs = keepLogs('info')
  const app = await appWith({ ajv: { customOptions: { allErrors: true } }, logger: logs.logger })
  app.post('/v1/users', { schema: { body: { type: 'array', items: integer } } }, async () => ({}))
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload: Array(20_000).fill('x') })
  const errors = Array.from({ length: 50 }, (_, index) => inBody(`/${index}`, 'must be integer'))
  isProblem(t, injected(response), { status: 400, code: 'validation', detail: /…$/, errors })
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
  const { length } = JSON.stringify(logs.lines)
  t.ok(length < 50_000, `${length} characters are logged`)
})

async function appWith(options: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = Fastify(options)
  await app.register(problems)
  return app
}
