/** XML and CSV beside JSON, on routes that opt in: what a request gets, and what it does not. */
import { Readable } from 'node:stream'
import compress from '@fastify/compress'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { type ConventionsOptions, caching, formats, serverOptions } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { withoutReferences } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'
import { rethrowUnwrapped } from '../../support/report-table.js'
import { serve } from '../../support/serve.js'

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const xmlType = 'application/xml; charset=utf-8'
const csvType = 'text/csv; charset=utf-8; header=present'
const jsonType = 'application/json; charset=utf-8'
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }

const ofXml = { formats: ['xml'] as const }

/** A user, as all routes of the service have it. */
const User = {
  type: 'object',
  properties: {
    id,
    name: text,
    tags: { type: 'array', items: text },
    address: { type: 'object', properties: { city: text, zip: { type: ['string', 'null'] } } },
    secret: text,
  },
}

const Users = { type: 'object', properties: { users: { type: 'array', items: User } } }

const rows = [
  { id: 9007199254740993n, name: 'Ada & Co', tags: ['x'], address: { city: '=1+1', zip: null }, secret: 's' },
  { id: 2n, name: '', tags: [], address: { city: 'K', zip: '1' }, secret: 's' },
]

const strict = { type: 'object', properties: { q: text }, additionalProperties: false }

/** An app with the preset and formats. */
async function presetApp(options: ConventionsOptions = {}) {
  const app = Fastify(serverOptions())
  const quiet = { pathGuard: false, responseRules: false, rateLimit: false, securityHeaders: false } as const
  await app.register(conventions, { ...quiet, formats: {}, ...options })
  return app
}

/** Routes of users that opt in: a list and an item. */
function addUsers(app: FastifyInstance) {
  const formats = ['xml', 'csv'] as const
  const ofList = { formats, lists: { total: false }, fields: { hidden: { secret: true } } } as const
  const schema = { response: { 200: User } }
  app.get('/v1/users', { schema: { response: { 200: Users } }, config: ofList }, (_request, reply) =>
    reply.list([...rows]),
  )
  app.get('/v1/users/:id', { schema, config: ofXml }, async ({ params }) =>
    rows.find((row) => row.id === BigInt((params as { readonly id: string }).id)),
  )
  app.get('/v1/plain', { schema }, async () => rows[1])
  return app
}

t.test('the query parameter has precedence over Accept, which decides without it', async (t) => {
  const app = addUsers(await presetApp())
  const requests: readonly (readonly [query: string, accept: string | undefined, type: string])[] = [
    ['', undefined, jsonType],
    ['', 'text/xml', 'text/xml; charset=utf-8'],
    ['', 'text/csv', csvType],
    ['', 'application/xml;q=0.5, application/json;q=0.4', xmlType],
    ['', 'application/xml, application/json', jsonType],
    ['', 'text/*', 'text/xml; charset=utf-8'],
    ['', 'application/json;q=0, */*', xmlType],
    ['', browser, jsonType],
    ['?format=xml', 'application/json', xmlType],
    ['?format=csv', 'image/png', csvType],
    ['?format=json', 'application/xml', jsonType],
  ]
  for (const [query, accept, type] of requests) {
    const headers = accept === undefined ? {} : { accept }
    const response = await app.inject({ url: `/v1/users${query}`, headers })
    const sent = [response.statusCode, response.headers['content-type'], response.headers.vary]
    t.strictSame(sent, [200, type, 'accept'], `${query} ${accept}`)
  }
})

t.test('a format that the route does not have is a 406 with those that it has', async (t) => {
  const app = addUsers(await presetApp())
  const all = ['application/json', 'application/xml', 'text/csv']
  const available = 'The resource is available as application/json, application/xml, text/csv'
  const given = 'is none of json, xml, csv.'
  for (const [url, accept, detail] of [
    ['/v1/users', 'image/png', available],
    ['/v1/users?format=pdf', '*/*', `format=pdf ${given} ${available}`],
    ['/v1/users?format=', '*/*', `format= ${given} ${available}`],
    ['/v1/users?format=XML', '*/*', `format=XML ${given} ${available}`],
    ['/v1/users?format=xml&format=csv', '*/*', `a repeated format ${given} ${available}`],
    ['/v1/users?format=__proto__', '*/*', `format=__proto__ ${given} ${available}`],
  ] as const) {
    const response = await app.inject({ url, headers: { accept } })
    const document = isProblem(t, injected(response), { status: 406, code: 'not-acceptable', detail }, url)
    t.strictSame(document.available, all, `${url}: the member`)
    t.equal(response.headers.vary, 'accept', `${url}: Vary`)
  }
  const item = injected(await app.inject('/v1/users/2?format=csv'))
  const detail = /as application\/json, application\/xml$/
  isProblem(t, item, { status: 406, code: 'not-acceptable', detail })
  const plain = await app.inject({ url: '/v1/plain?format=xml', headers: { accept: 'application/xml' } })
  const onlyJson = 'The resource is available as application/json'
  isProblem(t, injected(plain), { status: 406, code: 'not-acceptable', detail: onlyJson })
  t.equal(plain.headers.vary, 'accept', 'the 406 depends on Accept')
  t.equal((await app.inject('/v1/plain?format=xml')).headers['content-type'], jsonType)
})

t.test('both formats have the selected fields, without hidden ones, with twins and all digits', async (t) => {
  const app = addUsers(await presetApp())
  const instance = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
  const bodies: readonly (readonly [url: string, body: string])[] = [
    [
      '/v1/users?format=xml&limit=1',
      `${declaration}<response${instance}><users><user><id>9007199254740993</id><id_str>9007199254740993</id_str>` +
        '<name>Ada &amp; Co</name><tags><tag>x</tag></tags>' +
        '<address><city>=1+1</city><zip xsi:nil="true"/></address></user></users></response>',
    ],
    [
      '/v1/users/9007199254740993?format=xml&fields=id,address.city',
      `${declaration}<user><id>9007199254740993</id><id_str>9007199254740993</id_str><address><city>=1+1</city></address></user>`,
    ],
    [
      '/v1/users?format=csv',
      'id,id_str,name,tags,address.city,address.zip\r\n9007199254740993,9007199254740993,Ada & Co,"[""x""]",\'=1+1,\r\n' +
        '2,2,"",[],K,1\r\n',
    ],
    [
      '/v1/users?format=csv&fields=address.city,id&limit=1',
      "id,id_str,address.city\r\n9007199254740993,9007199254740993,'=1+1\r\n",
    ],
    ['/v1/users?format=csv&fields=id_str&limit=1', 'id,id_str\r\n9007199254740993,9007199254740993\r\n'],
  ]
  for (const [url, body] of bodies) t.equal((await app.inject(url)).body, body, url)
  const page = await app.inject('/v1/users?format=csv&limit=1')
  t.match(page.headers.link, /<\/v1\/users\?format=csv&limit=1&before_id=9007199254740993>; rel="next"/)
  t.equal(page.headers['content-disposition'], 'attachment; filename="users.csv"')
})

t.test('an empty list still has the header row; without twins there are no columns for them', async (t) => {
  const bare = await appOf(formats)
  const schema = { response: { 200: { type: 'array', items: { type: 'object', properties: { id } } } } }
  for (const [app, rows, body] of [
    [await presetApp(), [], 'id,id_str\r\n'],
    [bare, [{ id: 1 }], 'id\r\n1\r\n'],
  ] as const) {
    app.get('/v1/users', { schema, config: { formats: ['csv'] } }, async () => rows)
    t.equal((await app.inject('/v1/users?format=csv')).body, body)
  }
})

t.test('the list is that of config.lists; CSV has the name of the handler, formulas if kept', async (t) => {
  const app = await appOf([formats, { formulas: 'keep' }])
  const list = (name: string) => ({ type: 'array', items: { type: 'object', properties: { [name]: {} } } })
  const properties = { tags: list('tag'), people: list('name') }
  const options = {
    schema: { response: { 200: { type: 'object', properties } } },
    config: { formats: ['csv', 'xml'], lists: { member: 'people' } },
  } as const
  app.get('/v1/users', options, async (_request, reply) =>
    reply.header('content-disposition', 'inline').send({ tags: [], people: [{ name: '=1+1' }] }),
  )
  app.get('/v1/none', options, async () => ({ tags: [] }))
  const { headers, body } = await app.inject('/v1/users?format=csv')
  t.equal(headers['content-disposition'], 'inline')
  t.equal(body, 'name\r\n=1+1\r\n')
  t.match((await app.inject('/v1/users?format=xml')).body, '<response><tags/><people>')
  const none = await app.inject('/v1/none?format=csv')
  t.match(none, { body: '{"tags":[]}', headers: { 'content-type': jsonType } }, 'JSON without the list stays')
})

t.test('the root element has the title of the schema, or the singular of the path', async (t) => {
  const app = await presetApp({ integerTwins: false })
  const item = { type: 'object', properties: { id: { type: 'integer' } } }
  const items = { type: 'array', items: item }
  const list = { type: 'object', properties: { items, users: items } }
  const routes: readonly (readonly [path: string, schema: { readonly type: string }, root: string])[] = [
    ['/v1/purchase-orders/:id', item, 'purchase_order'],
    ['/v1/orders/:id', { ...item, title: 'Order' } as typeof item, 'Order'],
    ['/v1/invoices/:id', { ...item, title: 'An invoice' } as typeof item, 'invoice'],
    ['/v1/users', list, 'response'],
    ['/v1/roles', items, 'roles'],
    ['/v1/2', item, '_x0032_'],
  ]
  for (const [path, schema] of routes) {
    const answer = schema.type === 'array' ? [] : {}
    app.get(path, { schema: { response: { 200: schema } }, config: ofXml }, async () => answer)
  }
  for (const [path, , root] of routes) {
    const { body } = await app.inject(`${path.replace(':id', '1')}?format=xml`)
    t.equal(body, `${declaration}<${root}/>`, path)
  }
})

t.test('each format has entity tags of its own, from bytes and from validators', async (t) => {
  const app = addUsers(await presetApp())
  const schema = { response: { 200: User } }
  const validators = async () => ({ version: 'v7' })
  const config = { ...ofXml, caching: { validators } }
  app.get('/v1/versioned/:id', { schema, config }, async () => rows[1])
  app.get('/v1/weak', { schema, config: ofXml }, async (_request, reply) => {
    reply.caching({ etag: 'W/"v8"' })
    return rows[1]
  })
  const ofBytes = (format: string, headers = {}) => app.inject({ url: `/v1/users?format=${format}`, headers })
  const answers = [await ofBytes('json'), await ofBytes('xml'), await ofBytes('csv')]
  const tags = answers.map(({ headers: { etag } }) => String(etag))
  t.equal(new Set(tags).size, 3, 'tags of bytes')
  const known = { 'if-none-match': tags[1] }
  t.equal((await ofBytes('xml', known)).statusCode, 304)
  t.equal((await ofBytes('csv', known)).statusCode, 200)

  const xml = { accept: 'application/xml' }
  t.equal((await app.inject({ url: '/v1/weak', headers: xml })).headers.etag, 'W/"v8--xml"')
  t.equal((await app.inject('/v1/weak')).headers.etag, 'W/"v8"')
  for (const [headers, status, etag] of [
    [{}, 200, '"v7"'],
    [{ 'if-none-match': '"v7"' }, 304, '"v7"'],
    [{ 'if-none-match': '"v7--xml"' }, 200, '"v7"'],
    [{ ...xml, 'if-none-match': '"v7--xml"' }, 304, '"v7--xml"'],
    [{ ...xml, 'if-none-match': '"v7"' }, 200, '"v7--xml"'],
    [{ ...xml, 'accept-encoding': 'gzip', 'if-none-match': '"v7--xml--gzip"' }, 304, '"v7--xml--gzip"'],
  ] as const) {
    for (const method of ['GET', 'HEAD'] as const) {
      const response = await app.inject({ method, url: '/v1/versioned/1', headers })
      const expected = { statusCode: status, headers: { etag, vary: 'accept' } }
      t.match(response, expected, `${method} ${JSON.stringify(headers)}`)
    }
  }
})

t.test('a write with the tag of any format is of the same state of the resource', async (t) => {
  const app = await presetApp()
  const config = { caching: { validators: async () => ({ version: 'v7' }) } }
  app.put('/v1/users/:id', { schema: { body: User }, config }, async ({ body }) => body)
  for (const [tag, status] of [
    ['"v7"', 200],
    ['"v7--xml"', 200],
    ['"v7--csv--gzip"', 200],
    ['"v6", "v7--xml--br"', 200],
    ['"v6--xml"', 412],
    ['"v7--pdf"', 412],
  ] as const) {
    const request = { url: '/v1/users/1', headers: { 'if-match': tag }, payload: { name: 'a' } }
    t.equal((await app.inject({ method: 'PUT', ...request })).statusCode, status, tag)
  }
})

t.test('HEAD has the headers of GET, and compression follows', async (t) => {
  const app = await appOf([compress, { threshold: 0 }], caching, formats)
  const schema = { response: { 200: { type: 'object', properties: { name: text } } } }
  app.get('/v1/users/:id', { schema, config: ofXml }, async () => ({ name: 'Ada' }))
  const { origin } = await serve(t, app)
  const headers = { accept: 'application/xml', 'accept-encoding': 'identity' }
  const get = await fetch(`${origin}/v1/users/1`, { headers })
  const head = await fetch(`${origin}/v1/users/1`, { method: 'HEAD', headers })
  const body = await get.text()
  t.equal(body, `${declaration}<user><name>Ada</name></user>`)
  for (const name of ['content-type', 'etag', 'vary', 'cache-control', 'content-length'])
    t.equal(head.headers.get(name), get.headers.get(name), name)
  t.equal(head.headers.get('content-length'), String(Buffer.byteLength(body)))
  const coded = await fetch(`${origin}/v1/users/1`, { headers: { ...headers, 'accept-encoding': 'gzip' } })
  t.equal(coded.headers.get('content-encoding'), 'gzip')
  t.equal(await coded.text(), body)
})

t.test('payloads that are not JSON are sent as they are, and counted', async (t) => {
  const app = await presetApp({ problems: false })
  const json = '{"a":1.5}'
  const bodies: readonly (readonly [path: string, type: string, payload: unknown, expected: string])[] = [
    ['streams', 'application/json', Readable.from([json]), json],
    ['texts', 'text/plain', 'text', 'text'],
    ['patches', 'application/geo+json', json, json],
    ['own', 'application/xml', '<own/>', '<own/>'],
    ['buffers', 'application/json', Buffer.from(json), `${declaration}<buffer><a>1.5</a></buffer>`],
    ['strings', 'application/json', json, `${declaration}<string><a>1.5</a></string>`],
  ]
  const config = ofXml
  for (const [path, type, payload] of bodies)
    app.get(`/v1/${path}`, { config }, async (_request, reply) => {
      if (path === 'strings') reply.headers({ 'content-length': json.length, vary: 'Origin' })
      return reply.type(type).send(payload)
    })
  app.get('/v1/nothing', { config }, async (_request, reply) => reply.code(204).send())
  app.get('/v1/conflicts', { config }, async (_request, reply) => reply.code(409).send({ a: 1 }))
  app.get('/v1/gone', { config }, () => Promise.reject(Object.assign(new Error('gone'), { statusCode: 404 })))
  const get = (path: string) => app.inject({ url: `/v1/${path}`, headers: { accept: 'application/xml' } })
  for (const [path, , , expected] of bodies) {
    const { body, headers } = await get(path)
    t.equal(body, expected, path)
    if (path === 'patches') t.match(headers['content-type'], /^application\/geo\+json/)
    t.equal(headers.vary, path === 'strings' ? 'Origin, accept' : 'accept', path)
    if (path !== 'strings') continue
    const head = await app.inject({ method: 'HEAD', url: '/v1/strings?format=xml' })
    t.match(head.headers, { 'content-length': String(body.length), 'content-disposition': undefined })
  }
  t.equal((await get('nothing')).headers['content-type'], undefined)
  t.equal((await get('conflicts')).body, '{"a":1}', 'an error of the handler')
  t.match((await get('gone')).headers, { 'content-type': /^application\/(?!xml)/, vary: 'accept' })
  const observed = app.conventions.report().observations.filter(({ plugin }) => plugin === 'formats')
  t.strictSame(
    observed.map(({ rule, route, example }) => `${rule} ${route} ${example}`),
    [
      'xml GET /v1/streams the response stays application/json: it is a stream',
      'xml GET /v1/texts the response stays text/plain',
      'xml GET /v1/patches the response stays application/geo+json',
    ],
  )
})

t.test('the parameter passes query schemas that forbid others, and its name is an option', async (t) => {
  const app = Fastify({ ajv: { customOptions: { removeAdditional: false } } })
  app.addSchema({ $id: 'strict', ...strict })
  await app.register(formats, { parameter: 'as' })
  const queries = { plain: strict, referred: { $ref: 'strict#' }, merged: { allOf: [strict] } }
  for (const [name, querystring] of Object.entries(queries)) {
    app.get(`/v1/${name}`, { schema: { querystring }, config: ofXml }, async ({ query }) => query as object)
  }
  for (const name of Object.keys(queries)) {
    const response = await app.inject(`/v1/${name}?as=xml&q=a`)
    t.equal(response.headers['content-type'], xmlType, name)
    t.match(response.body, '<q>a</q>', name)
    const other = await app.inject(`/v1/${name}?as=xml&format=xml`)
    t.equal(other.statusCode, 400, `${name}: others are refused`)
  }
})

t.test('what a route asks for and cannot have stops the boot; in report mode it is a finding', async (t) => {
  const item = { type: 'object', properties: { id: { type: 'integer' } } }
  const open = { ...item, additionalProperties: true }
  const users = { type: 'object', properties: { users: { type: 'array', items: open } } }
  const querystring = { type: 'object', properties: { format: {} } }
  const cases: readonly (readonly [schema: object, config: 'csv' | 'xml', finding: RegExp])[] = [
    [{ response: { 200: item } }, 'csv', /formats\.csv .*CSV is for lists/],
    [{}, 'csv', /CSV needs a response schema/],
    [{ response: { 200: users } }, 'csv', /CSV needs the fields of an item/],
    [{ querystring }, 'xml', /'format' is declared by the route/],
  ]
  for (const [schema, format, message] of cases) {
    const boot = async (mode: 'enforce' | 'report') => {
      const app = await appOf([formats, { mode }])
      app.get('/v1/users', { schema, config: { formats: [format] } }, async () => ({}))
      await app.ready().then(undefined, rethrowUnwrapped)
      return app.conventions.report().findings
    }
    await t.rejects(boot('enforce'), { code: 'FST_CONV_FINDINGS', message })
    t.match(await boot('report'), [{ plugin: 'formats' }])
  }
  const app = Fastify()
  await app.register(formats)
  app.delete('/v1/users/:id', { config: ofXml }, async (_, reply) => reply.code(204).send())
  app.delete('/v1/teams/:id', { schema: { response: { 200: item } }, config: ofXml }, async () => ({}))
  await app.ready()
  const finding = { rule: 'method', route: 'DELETE /v1/users/:id', effect: 'none' }
  t.match(
    app.conventions.report().findings,
    { ...[finding], length: 1 },
    'a DELETE without content has no format',
  )
})

t.test('in report mode no response changes; other formats, and a 406, are counted', async (t) => {
  const app = await appOf([formats, { mode: 'report' }])
  const schema = { querystring: strict, response: { 200: { type: 'array', items: User } } }
  app.get('/v1/users', { schema, config: { formats: ['xml', 'csv'] } }, async () => [{ id: 1 }])
  app.get('/v1/roles', { config: ofXml }, async () => ({ id: 1 }))
  for (const [method, url, accept] of [
    ['GET', '/v1/users'],
    ['GET', '/v1/users?format=csv'],
    ['GET', '/v1/roles?format=xml'],
    ['HEAD', '/v1/roles?format=xml'],
    ['GET', '/v1/roles?format=pdf'],
    ['GET', '/v1/roles', 'application/xml'],
    ['GET', '/v1/roles', 'image/png'],
  ] as const) {
    const { headers } = await app.inject({ method, url, headers: { accept: accept ?? '*/*' } })
    t.match(headers['content-type'], /^application\/json/, `${url} ${accept}`)
  }
  const { observations } = app.conventions.report()
  t.strictSame(
    observations.map(({ rule, route, effect, count, example }) => [rule, route, effect, count, example]),
    [
      ['csv', 'GET /v1/users', 'changed', 1, 'the response would be text/csv'],
      ['xml', 'GET /v1/roles', 'changed', 3, 'the response would be application/xml'],
      ['not-acceptable', 'GET /v1/roles', 'refused', 2, 'none of application/json, application/xml'],
    ],
  )
})

t.test('options that are invalid throw with their name', async (t) => {
  const invalid = { code: 'FST_CONV_OPTION_INVALID' }
  for (const options of [{ parameter: '' }, { parameter: 'a b' }, { formulas: true }] as object[])
    await t.rejects(async () => Fastify().register(formats, options), invalid, JSON.stringify(options))
  const app = await appOf(formats)
  for (const config of ['xml', ['json'], ['xml', 'xml'], true, { produces: 'xml' }]) {
    const declare = () => app.get('/v1/users', { config: { formats: config as [] } }, async () => ({}))
    t.throws(declare, invalid, JSON.stringify(config))
  }
})

t.test('a route with false, and an app without routes that opt in, have no hooks', async (t) => {
  const hooks: unknown[] = []
  const app = Fastify()
  app.addHook('onRoute', (one) => void hooks.push(one.preValidation, one.preParsing, one.onSend))
  await app.register(formats)
  const off = { formats: { mode: 'off', produces: ['xml'] } } as const
  for (const [index, config] of [{ formats: false } as const, {}, off].entries())
    app.get(`/v1/${index}`, { exposeHeadRoute: false, config }, async () => ({}))
  await app.ready()
  t.strictSame(hooks, Array.from({ length: 9 }))
})

t.test('OpenAPI has the parameter, and the media types of responses, of routes that opt in', async (t) => {
  const app = await presetApp()
  await app.register(swagger, { openapi: {} })
  addUsers(app)
  const created = { body: User, response: { 201: User, 204: { type: 'null' } } }
  app.post('/v1/users', { schema: created, config: ofXml }, async () => ({}))
  const texts = { 200: { description: 'Texts', content: { 'text/plain': { schema: { type: 'string' } } } } }
  app.get('/v1/texts', { schema: { response: texts }, config: ofXml }, async () => 'text')
  await app.ready()
  const { paths } = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))
  const { parameters, responses } = paths['/v1/users'].get
  const ofFormat = { in: 'query', schema: { type: 'string', enum: ['json', 'xml', 'csv'] } }
  const parameter = parameters.find(({ name }: { readonly name: string }) => name === 'format')
  t.match(parameter, { ...ofFormat, description: /precedence over Accept/ })
  const { headers, content } = responses['200']
  t.ok(headers.ETag, 'the headers of caching stay')
  const ofText = { schema: { type: 'string' } }
  t.match(headers['Content-Disposition'], ofText)
  const types = ['application/json', 'application/xml', 'text/xml']
  t.strictSame(Object.keys(content), [...types, 'text/csv'])
  t.strictSame(content['text/csv'], ofText)
  const { schema: xml } = content['application/xml']
  t.strictSame(xml.xml, { name: 'response' })
  t.ok(xml.properties.users.items.properties.id_str, 'XML has the twins')
  t.notOk('xml' in content['application/json'].schema)
  t.match(JSON.stringify(responses['406']), 'not-acceptable')

  const typesOf = (operation: { responses: Record<string, { content: object }> }, status = '200') =>
    Object.keys(operation.responses[status]?.content ?? {})
  t.strictSame(typesOf(paths['/v1/texts'].get), ['text/plain'])
  t.strictSame(typesOf(paths['/v1/users'].post, '201'), types)
  t.strictSame(typesOf(paths['/v1/users'].post, '204'), [])
  const { get } = paths['/v1/plain']
  t.strictSame(typesOf(get), ['application/json'])
  t.notMatch(JSON.stringify(get.parameters), '"format"')
})
