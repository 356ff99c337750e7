import t from 'tap'
import { keepLogs, levels } from '../../support/logs.js'
import { appWith, refuses } from './support.js'

const inBody = (pointer: string, message: string) => ({ in: 'body', pointer, message }) as const
const integer = { type: 'integer' }
const invalid = { status: 400, code: 'validation' }

t.test('a fault of a body has a JSON Pointer, one of query, path or header its name', async (t) => {
  const app = await appWith({}, { ajv: { customOptions: { removeAdditional: false } } })
  const item = { type: 'object', required: ['sku'], properties: { sku: {} }, additionalProperties: false }
  const schema = {
    body: {
      type: 'object',
      properties: {
        'a/b~c': { type: 'array', items: item },
        old: { enum: [1, 2] },
        word: { type: 'string', pattern: '^secret$' },
      },
    },
    querystring: { type: 'object', required: ['page'], properties: { page: integer, 'a/b~c': integer } },
    params: { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } },
    headers: { type: 'object', required: ['x-key'], properties: { 'x-count': integer } },
  }
  app.post('/v1/users/:id', { schema }, async () => ({}))
  const [url, key] = ['/v1/users/1?page=1', { 'x-key': 'k' }]
  for (const [about, request, issue] of [
    ['an array', { payload: [] }, inBody('', 'must be object')],
    ['a missing member', { payload: { 'a/b~c': [{ sku: 1 }, {}] } }, inBody('/a~1b~0c/1/sku', 'is required')],
    [
      'an unknown one',
      { payload: { 'a/b~c': [{ sku: 1, x: 1 }] } },
      inBody('/a~1b~0c/0/x', 'is not known here'),
    ],
    ['a wrong type', { payload: { 'a/b~c': 'x' } }, inBody('/a~1b~0c/0', 'must be object')],
    ['none of these', { payload: { old: 3 } }, inBody('/old', 'must be one of 1, 2')],
    ['a pattern', { payload: { word: 'x' } }, inBody('/word', 'must match the required pattern')],
    ['path', { url: '/v1/users/abc?page=1' }, { in: 'path', name: 'id', message: 'must be integer' }],
    ['limit', { url: '/v1/users/0?page=1' }, { in: 'path', name: 'id', message: 'must be >= 1' }],
    ['query', { url: '/v1/users/1' }, { in: 'query', name: 'page', message: 'is required' }],
    ['escaped', { url: `${url}&a%2Fb~c=x` }, { in: 'query', name: 'a/b~c', message: 'must be integer' }],
    ['header', { headers: {} }, { in: 'header', name: 'x-key', message: 'is required' }],
  ] as const) {
    const detail = `${issue.in}${'pointer' in issue ? issue.pointer : `/${issue.name}`} ${issue.message}`
    const usual = { method: 'POST', url, headers: key, payload: {} } as const
    const asked = { ...usual, ...request }
    await refuses(t, app, asked, { ...invalid, title: 'Invalid input', detail, errors: [issue] }, about)
  }
})

t.test('errors of another validator, of a formatter of the app, and of attachValidation', async (t) => {
  const app = await appWith({}, { schemaErrorFormatter: () => new Error('look it up') })
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
  const post = (path: string) => ({ method: 'POST', url: `/v1/${path}`, payload: {} }) as const
  const ofValidator = await app.inject(post('validator'))
  t.match(ofValidator.json(), { detail: /no name/, status: 400 })
  t.strictSame((await app.inject(post('seen'))).json(), { seen: 'body' }, 'the handler decides')
  const errors = [inBody('/name', 'is required')]
  for (const path of ['formatter', 'attached'])
    await refuses(t, app, post(path), { ...invalid, detail: 'look it up', errors }, path)
})

t.test('of many faults 50 are told, and a long name is cut, in the response and in the log', async (t) => {
  const logs = keepLogs('info')
  const customOptions = { allErrors: true, removeAdditional: false } as const
  const app = await appWith({}, { ajv: { customOptions }, logger: logs.logger })
  const list = { type: 'array', items: integer }
  const map = { type: 'object', additionalProperties: list }
  const closed = { type: 'object', properties: {}, additionalProperties: false }
  const names = { type: 'object', propertyNames: { pattern: '^[a-z]{1,9}$' } }
  for (const [url, body] of Object.entries({ list, map, closed, names }))
    app.post(`/v1/${url}`, { schema: { body } }, async () => ({}))
  const long = 'k'.repeat(900_000)
  const errors = Array.from({ length: 50 }, (_, index) => inBody(`/${index}`, 'must be integer'))
  const many = Array.from({ length: 9_000 }, (_, index) => [`${'k'.repeat(90)}${index}`, ['x']])
  for (const [path, payload, expected] of [
    ['list', Array(20_000).fill('x'), { detail: /^body\/0 must be integer, .*…$/, errors }],
    ['map', { [long]: Array(60).fill('x') }, { detail: /^body\/kk/ }],
    ['map', Object.fromEntries(many), { detail: /^body\/kk/ }],
    ['closed', { [long]: 1 }, { detail: /^body\/kk/ }],
    ['names', { [long]: 1 }, { detail: /^body\/kk/ }],
  ] as const) {
    logs.lines.length = 0
    const request = { method: 'POST', url: `/v1/${path}`, payload } as const
    const response = await refuses(t, app, request, { ...invalid, ...expected }, path)
    t.ok(response.payload.length < 20_000, `${path}: ${response.payload.length} characters are answered`)
    const line = logs.lines.find(({ err }) => err !== undefined)
    t.match(line, { level: levels.info, err: { code: 'validation' }, res: { statusCode: 400 } })
    t.ok(JSON.stringify(logs.lines).length < 15_000, `${path}: the log`)
  }
})
