/** The OpenAPI document of the demo, and the page that shows it. Is it true? `document-judge.ts` compares each response. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { withoutReferences } from '../support/openapi.js'
import { type Json, serve } from './client.js'
import { collections } from './collections.js'
import { emptyDatabase } from './databases.js'
import { issuer } from './issuer.js'

interface Operation {
  readonly operationId: string
  readonly description: string
  readonly tags: readonly string[]
  readonly 'x-sunset': string
  readonly security: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { readonly schema: Json }>
  }
  readonly responses: Json
}

interface Document {
  readonly info: Json
  readonly tags: readonly Json[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    readonly schemas: Json
    readonly securitySchemes: Json
  }
}

await t.test('the OpenAPI document', async (t) => {
  const client = await serve(t, await emptyDatabase(t))
  const { json } = await client.anonymous.get('/openapi.json')
  const { info, tags, paths, components } = withoutReferences(json) as unknown as Document
  const operations = Object.values(paths).flatMap((routes) => Object.values(routes))

  await t.test('has a contact, and describes each operation and its tags', async (t) => {
    t.match(info.contact, { name: String })
    const described = tags.map(({ name, description }) => description && name)
    for (const { operationId, description, tags } of operations) {
      // The last paragraph is about the end of the version.
      t.match(description.split('\n\n')[0], /^(?!Answered).+\.$/, operationId)
      t.ok(tags.length > 0 && tags.every((tag) => described.includes(tag)), `${operationId}: ${tags}`)
    }
  })

  await t.test('says until when the version is provided, as each response and the README do', async (t) => {
    const sunset = '2032-01-01T00:00:00.000Z'
    const date = sunset.slice(0, 10)
    t.match(info.description, `Version 1, below \`/v1\`, is provided until ${date},`)
    const readme = await readFile(new URL('../../examples/demo-server/README.md', import.meta.url), 'utf8')
    t.match(readme, `Version 1 of the API, below \`/v1\`, is provided until ${date}:`)
    for (const path of ['/v1/terms', '/v1/users/1', '/v1/nothing']) {
      const { headers } = await client.anonymous.get(path)
      t.equal(headers.get('sunset'), new Date(sunset).toUTCString(), path)
      t.equal(headers.get('deprecation'), null, 'it is not deprecated yet')
    }
    t.equal((await client.get('/health')).headers.get('sunset'), null, 'what has no version stays')
    t.ok(operations.every((operation) => operation['x-sunset'] === sunset))
  })

  await t.test('has the six routes of the five collections, and all others', async (t) => {
    const of = (name: string, ...suffixes: string[]) => suffixes.map((suffix) => `/v1/${name}${suffix}`)
    t.strictSame(
      Object.keys(paths).sort(),
      [
        ...collections.flatMap(({ name }) => of(name, '', '/{id}')),
        ...of('orders', '/{id}/cancel', '/{id}/retry', '/{id}/invoice'),
        ...of('subscriptions', '/{id}/cancel', '/{id}/suspend'),
        ...of('users', '/{id}/follow', '/{id}/verify_email'),
        ...of('operations', '', '/{id}', '/{id}/status'),
        ...['/v1/payments/{id}/retry', '/v1/user/{id}/follow', '/v1/terms'],
      ].sort(),
    )
    for (const { operationId, requestBody } of operations) {
      const isAction = /^(cancel|suspend|follow|retry|verify)/.test(operationId)
      if (requestBody !== undefined) t.equal(requestBody.required, !isAction, operationId)
    }
    t.equal(new Set(operations.map(({ operationId }) => operationId)).size, 44)
  })

  await t.test('has a schema for each item, and for problems', async (t) => {
    const names = [...collections.map(({ singular }) => singular), 'Problem']
    t.strictSame(Object.keys(components.schemas).sort(), names.sort())
  })

  await t.test('shows the parameters of a list, and the media types of a patch', async (t) => {
    const parameters = paths['/v1/orders']?.get?.parameters ?? []
    const ofQuery = 'after_id before_id before_time currency fields format include_total limit status user_id'
    const inQuery = parameters.filter((parameter) => parameter.in === 'query')
    t.strictSame(inQuery.map(({ name }) => name).sort(), ofQuery.split(' '))
    const types = Object.keys(paths['/v1/users/{id}']?.patch?.requestBody?.content ?? {})
    t.strictSame(types, ['application/merge-patch+json', 'application/json'])
  })

  await t.test('says how to get a token, and which scopes each route needs', async (t) => {
    const { issuer: other } = (await issuer()).options
    const oauth = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: other }
    t.match(components.securitySchemes, { oauth })
    for (const [path, method, security] of [
      ['/v1/orders', 'get', [{ oauth: ['orders:read'] }]],
      ['/v1/orders', 'post', [{ oauth: ['orders:write'] }]],
      ['/v1/users/{id}/follow', 'post', [{ oauth: ['friends:write'] }]],
      ['/v1/operations/{id}', 'get', [{ oauth: [] }]],
      ['/v1/terms', 'get', []],
    ] as const)
      t.strictSame(paths[path]?.[method]?.security, security, path)
  })

  await t.test('document and page have a policy and a tag', async (t) => {
    for (const path of ['/docs', '/docs/json', '/openapi.json']) {
      const { status, headers } = await client.get(path)
      t.equal(status, 200, path)
      t.match(headers.get('content-security-policy'), /default-src 'self'.*frame-ancestors 'none'/)
      const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
      t.match(await client.call('GET', path, known), { status: 304, text: '' }, path)
    }
  })
})
