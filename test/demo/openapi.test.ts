import { readFile } from 'node:fs/promises'
import t from 'tap'
import { withoutReferences } from '../support/openapi.js'
import { type Json, serve } from './client.js'
import { collections } from './collections.js'
import { emptyEmbeddedDatabase } from './databases.js'
import { issuer } from './issuer.js'

interface Operation {
  readonly operationId: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly 'x-sunset'?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { readonly schema: Json }>
  }
  readonly responses: Record<string, Response>
}

interface Response {
  readonly headers?: Json
  readonly content?: Record<string, { readonly schema: Json }>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Json
  readonly description?: string
}

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, { readonly properties: Json }> }
}

// What is asked of operations is told, not kept: there is nothing to validate.
const ofPackage = /Operation(s|Status)?$/

const database = await emptyEmbeddedDatabase()

await t.test('the OpenAPI document', async (t) => {
  const client = await serve(t, database)
  const { status, headers, json } = await client.get('/openapi.json')
  t.equal(status, 200)
  t.match(headers.get('content-type'), 'application/json')
  const document = withoutReferences(json) as unknown as Document
  t.equal(document.openapi, '3.1.0')

  await t.test('names a contact, and describes each operation and its tags', async (t) => {
    const { info, tags } = json as unknown as {
      readonly info: { readonly contact: Json }
      readonly tags: readonly Json[]
    }
    t.match(info.contact, { name: String })
    const described = new Set(tags.map(({ name, description }) => description && name))
    for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
      // The last paragraph is about the end of the version.
      t.match(operation.description?.split('\n\n')[0], /^(?!Answered).+\.$/, operation.operationId)
      t.ok(operation.tags?.length, operation.operationId)
      for (const tag of operation.tags ?? []) t.ok(described.has(tag), `${operation.operationId}: ${tag}`)
    }
  })

  await t.test('says until when the version is provided, as each response and the README do', async (t) => {
    const { info } = json as unknown as { readonly info: Json }
    const operation: object = document.paths['/v1/users']?.get ?? {}
    const { 'x-sunset': sunset } = operation as { readonly 'x-sunset': string }
    t.match(sunset, /T00:00:00\.000Z$/)
    const date = sunset.slice(0, 10)
    t.match(info.description, `Version 1, below \`/v1\`, is provided until ${date},`)
    const readme = await readFile(new URL('../../examples/demo-server/README.md', import.meta.url), 'utf8')
    t.match(readme, `Version 1 of the API, below \`/v1\`, is provided until ${date}:`)
    for (const path of ['/v1/terms', '/v1/users', '/v1/users/1', '/v1/nothing']) {
      const { headers } = await client.anonymous.get(path)
      t.equal(headers.get('sunset'), new Date(sunset).toUTCString(), path)
      t.equal(headers.get('deprecation'), null, 'it is not deprecated yet')
    }
    t.equal((await client.get('/health')).headers.get('sunset'), null, 'what has no version stays')
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
    t.ok(operations.every((operation) => operation['x-sunset'] === sunset))
    // The page shows this document.
    t.match((await client.get('/docs/json')).json.info, info)
  })

  await t.test(
    'has the six routes of the five collections, the actions, the operations, the invoice and the terms',
    async (t) => {
      const ofCollections = collections.flatMap(({ name }) => [`/v1/${name}`, `/v1/${name}/{id}`])
      const ofActions = [
        '/v1/orders/{id}/cancel',
        '/v1/subscriptions/{id}/suspend',
        '/v1/subscriptions/{id}/cancel',
        '/v1/users/{id}/follow',
        '/v1/user/{id}/follow',
      ]
      const ofRetries = ['/v1/payments/{id}/retry', '/v1/orders/{id}/retry', '/v1/users/{id}/verify_email']
      const ofOperations = ['/v1/operations', '/v1/operations/{id}', '/v1/operations/{id}/status']
      const expected = [...ofCollections, ...ofActions, ...ofRetries, ...ofOperations]
      t.strictSame(
        Object.keys(document.paths).sort(),
        [...expected, '/v1/orders/{id}/invoice', '/v1/terms'].sort(),
      )
      for (const { name } of collections) {
        t.strictSame(Object.keys(document.paths[`/v1/${name}`] ?? {}).sort(), ['get', 'post'])
        t.strictSame(Object.keys(document.paths[`/v1/${name}/{id}`] ?? {}).sort(), [
          'delete',
          'get',
          'patch',
          'put',
        ])
      }
      const ids = operations(document).map(({ operationId }) => operationId)
      t.equal(ids.length, 44)
      t.equal(new Set(ids).size, 44)
    },
  )

  await t.test('has a schema for each item and for problems', async (t) => {
    const names = [...collections.map(({ singular }) => singular), 'Problem']
    t.strictSame(Object.keys(document.components.schemas).sort(), names.sort())
    for (const { singular, fields } of collections) {
      const { properties } = document.components.schemas[singular] ?? {}
      const members = ['id', ...Object.keys(fields), 'created_at', 'updated_at']
      t.strictSame(Object.keys(properties ?? {}), members.flatMap(withTwin))
    }
  })

  await t.test('shows the twin of every id and reference, as text, in items and in bodies', async (t) => {
    const twin = { type: 'string', pattern: '^-?[0-9]+$' }
    const digits = { type: 'string', pattern: '^[0-9]+$', maxLength: 19 }
    for (const { name, singular, references } of collections) {
      const { properties = {} } = document.components.schemas[singular] ?? {}
      for (const field of ['id', ...references])
        t.match(properties[`${field}_str`], twin, `${singular} ${field}`)
      const bodies = [
        document.paths[`/v1/${name}`]?.post,
        document.paths[`/v1/${name}/{id}`]?.put,
        document.paths[`/v1/${name}/{id}`]?.patch,
      ].map((operation) => operation?.requestBody?.content['application/json']?.schema.properties as Json)
      for (const body of bodies) {
        for (const field of references) t.match(body[`${field}_str`], digits, `body of ${singular}: ${field}`)
      }
    }
  })

  await t.test('shows the parameter fields, with its default, for reads only', async (t) => {
    for (const { operationId, parameters = [] } of operations(document)) {
      const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
      t.equal(names.includes('fields'), /^(list|read)(?!Terms)/.test(operationId), operationId)
    }
    for (const [path, otherwise] of [
      ['/v1/users', /Default: id, name, age, gender, email_verified, created_at, updated_at$/],
      ['/v1/orders/{id}', /Default: all$/],
    ] as const) {
      const { parameters = [] } = document.paths[path]?.get ?? {}
      t.match(parameters.find(({ name }) => name === 'fields')?.description, otherwise, path)
    }
  })

  await t.test('shows the paging parameters and the filters', async (t) => {
    const { parameters = [] } = document.paths['/v1/orders']?.get ?? {}
    const ofQuery = parameters.filter((parameter) => parameter.in === 'query')
    const names = ofQuery.map(({ name }) => name).sort()
    const paging = ['after_id', 'before_id', 'before_time', 'include_total', 'limit']
    t.strictSame(names, [...paging, 'fields', 'format', 'currency', 'status', 'user_id'].sort())
  })

  await t.test('shows ids in paths as digits, which any client can send', async (t) => {
    const { parameters = [] } = document.paths['/v1/orders/{id}']?.get ?? {}
    const id = parameters.find((parameter) => parameter.in === 'path')
    t.match(id, { name: 'id', schema: { type: 'string', pattern: '^[0-9]+$', maxLength: 19 } })
  })

  await t.test('shows a problem for every error status', async (t) => {
    for (const { operationId, responses } of operations(document)) {
      const errors = Object.entries(responses).filter(([code]) => Number(code) >= 400)
      t.ok(errors.length > 0, operationId)
      for (const [code, { content }] of errors) {
        const ofStatus = { properties: { status: { enum: [Number(code)] }, code: { enum: [/^[a-z-]+$/] } } }
        const schema = { allOf: [{ $ref: '#/components/schemas/Problem' }, ofStatus] }
        t.match(content, { 'application/problem+json': { schema } }, operationId)
      }
    }
  })

  await t.test(
    'shows the responses to preconditions: 304 and 412 of a read, 412 of a write and of an action',
    async (t) => {
      for (const { operationId, responses } of operations(document)) {
        const isRead = /^(list|read|download)/.test(operationId) && !ofPackage.test(operationId)
        t.equal('304' in responses, isRead, `${operationId}: 304`)
        t.notOk(responses['304']?.content, `${operationId}: a 304 has no content`)
        t.equal(
          '412' in responses,
          !/^(create|follow)/.test(operationId) && !ofPackage.test(operationId),
          `${operationId}: 412`,
        )
      }
      for (const path of ['/v1/users', '/v1/orders/{id}/invoice', '/v1/terms']) {
        const { headers } = document.paths[path]?.get?.responses['200'] ?? {}
        t.match(headers, { 'Cache-Control': {}, ETag: {}, 'Last-Modified': {} }, path)
      }
    },
  )

  await t.test('shows which routes start operations, and the responses of operations', async (t) => {
    for (const path of [
      '/v1/payments/{id}/retry',
      '/v1/orders/{id}/retry',
      '/v1/users/{id}/verify_email',
      '/v1/orders',
    ]) {
      const accepted = document.paths[path]?.post?.responses['202']
      t.match(accepted?.headers, { Location: {}, 'Operation-Location': {}, 'Retry-After': {} }, path)
    }
    const read = document.paths['/v1/operations/{id}']?.get?.responses ?? {}
    for (const status of ['200', '303', '401', '404', '410', '429', '503']) t.ok(status in read, status)
    t.match(document.paths['/v1/orders/{id}/invoice']?.get?.responses['202']?.headers, { 'Retry-After': {} })
  })

  await t.test('shows both media types of a PATCH, and no body of a DELETE', async (t) => {
    const routes = document.paths['/v1/users/{id}']
    t.strictSame(Object.keys(routes?.patch?.requestBody?.content ?? {}), [
      'application/merge-patch+json',
      'application/json',
    ])
    t.notOk(routes?.delete?.responses['204']?.content)
  })

  await t.test('says where a body may be absent', async (t) => {
    for (const { operationId, requestBody } of operations(document)) {
      const isOptional = /^(cancel|suspend|follow|retry|verify)/.test(operationId)
      if (requestBody !== undefined) t.equal(requestBody.required, !isOptional, operationId)
    }
  })

  await t.test('has no reference that cannot be resolved', async (t) => {
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/"\$ref":"([^"]*)"/g)) {
      const component = /^#\/components\/schemas\/(\w+)$/.exec(name ?? '')?.[1] ?? ''
      t.ok(component in document.components.schemas, component)
    }
  })
})

await t.test('page and document have security headers, Cache-Control and a tag', async (t) => {
  const client = await serve(t, database)
  for (const path of ['/docs', '/docs/json', '/openapi.json']) {
    const { status, headers } = await client.get(path)
    t.equal(status, 200, path)
    t.match(headers.get('content-security-policy'), /default-src 'self'.*frame-ancestors 'none'/)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.equal(headers.get('x-frame-options'), 'DENY')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.equal(headers.get('cache-control'), 'no-cache, private', 'the client has sent a token')
    const tag = headers.get('etag') ?? ''
    for (const copies of [tag, `W/${tag}`, `"old", ${tag}`, '*']) {
      const known = await client.call('GET', path, { headers: { 'if-none-match': copies } })
      t.match(known, { status: 304, text: '' }, `${path}: nothing has changed since ${copies}`)
      t.equal(known.headers.get('content-type'), null)
    }
    t.match(await client.call('GET', path, { headers: { 'if-none-match': '"old"' } }), { status: 200 })
    const head = await client.call('HEAD', path)
    t.equal(head.status, 200)
    t.equal(head.headers.get('x-content-type-options'), 'nosniff')
    const known = await client.call('HEAD', path, { headers: { 'if-none-match': '*' } })
    t.equal(known.status, 304, `HEAD ${path} as GET`)
  }
  const asset = await client.get('/docs/static/swagger-ui.css')
  t.equal(asset.headers.get('x-content-type-options'), 'nosniff')
  t.ok(asset.headers.has('etag'))
  t.notMatch((await client.get('/docs')).text, /<script(?![^>]* src=)/, 'no script that the policy stops')
})

await t.test('the document says how to get a token, and which scopes each route needs', async (t) => {
  const client = await serve(t, database)
  const { json } = await client.anonymous.get('/openapi.json')
  const { issuer: other } = (await issuer()).options
  t.match(json, {
    components: {
      securitySchemes: {
        oauth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: new RegExp(other) },
      },
    },
    paths: {
      '/v1/orders': {
        get: { security: [{ oauth: ['orders:read'] }] },
        post: { security: [{ oauth: ['orders:write'] }] },
      },
      '/v1/users/{id}/follow': { post: { security: [{ oauth: ['friends:write'] }] } },
      '/v1/operations/{id}': { get: { security: [{ oauth: [] }] } },
      '/v1/terms': { get: { security: [] } },
    },
  })
  const { paths } = json as unknown as Document
  for (const [path, routes] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(routes)) {
      t.equal('401' in responses, path !== '/v1/terms', `${method} ${path}`)
    }
  }
})

await t.test('the HTML page of the document is served', async (t) => {
  const client = await serve(t, database)
  const page = await client.get('/docs')
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), 'text/html')
  for (const [, asset] of page.text.matchAll(/(?:src|href)="\.?\/?((?:docs\/)?static\/[^"]+)"/g)) {
    const path = asset?.startsWith('docs/') ? `/${asset}` : `/docs/${asset}`
    t.equal((await client.get(path)).status, 200, path)
  }
  t.equal((await client.get('/docs/json')).status, 200, 'what the page reads')
})

function withTwin(member: string): string[] {
  return /(^|_)id$/.test(member) ? [member, `${member}_str`] : [member]
}

function operations(document: Document): Operation[] {
  return Object.values(document.paths).flatMap((routes) => Object.values(routes))
}
