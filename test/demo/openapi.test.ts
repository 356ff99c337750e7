/**
 * The OpenAPI document of the demo, the page that shows it, and that its routes keep the conventions. Is the document true?
 * `document-judge.ts` compares each response.
 */
import { readFile } from 'node:fs/promises'
import { assertConventions } from 'fastify-conventions/testing'
import t from 'tap'
import { items } from '../../examples/demo-server/collections/index.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { documentOf } from '../support/openapi.js'
import { serve, tagOf } from './client.js'
import { emptyDatabase } from './databases.js'
import { adminToken } from './issuer.js'

t.test('the OpenAPI document', async (t) => {
  const database = await emptyDatabase(t)
  const client = await serve(t, database)
  const { paths = {}, components = {} } = await documentOf(client.app)
  const operations = Object.values(paths).flatMap((routes) => Object.values(routes))

  await t.test('says until when the version is provided, as each response and the README do', async (t) => {
    const sunset = '2032-01-01T00:00:00.000Z'
    const date = sunset.slice(0, 10)
    const { text } = await client.anonymous.get('/openapi.json')
    t.match(text, `Version 1, below \`/v1\`, is provided until ${date},`)
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
        ...Object.keys(items).flatMap((name) => of(name, '', '/{id}')),
        ...of('orders', '/{id}/cancel', '/{id}/retry', '/{id}/invoice'),
        ...of('subscriptions', '/{id}/cancel', '/{id}/suspend'),
        ...of('users', '/{id}/follow', '/{id}/verify_email'),
        ...of('operations', '', '/{id}', '/{id}/status'),
        ...['/v1/payments/{id}/retry', '/v1/user/{id}/follow', '/v1/terms'],
      ].sort(),
    )
    for (const { operationId, requestBody } of operations) {
      const isAction = /^(cancel|suspend|follow|retry|verify)/.test(String(operationId))
      if (requestBody !== undefined) t.equal(requestBody.required, !isAction, String(operationId))
    }
    t.equal(new Set(operations.map(({ operationId }) => operationId)).size, 44)
  })

  await t.test(
    'has a schema for each item, the parameters of a list, and the scopes of a route',
    async (t) => {
      const names = [...Object.values(items).map(({ $id }) => $id), 'Problem']
      t.strictSame(Object.keys(components.schemas ?? {}).sort(), names.sort())
      const ofQuery =
        'after_id before_id before_time currency fields format include_total limit status user_id'
      const orders = paths['/v1/orders']
      const inQuery = orders?.get?.parameters?.filter((parameter) => parameter.in === 'query')
      t.strictSame(inQuery?.map(({ name }) => name).sort(), ofQuery.split(' '))
      t.strictSame(orders?.get?.security, [{ oauth: ['orders:read'] }])
      t.strictSame(paths['/v1/users/{id}/follow']?.post?.security, [{ oauth: ['friends:write'] }])
      t.strictSame(paths['/v1/operations/{id}']?.get?.security, [{ oauth: [] }])
    },
  )

  await t.test('document and page have a policy and a tag', async (t) => {
    for (const path of ['/docs', '/docs/json', '/openapi.json']) {
      const { status, headers } = await client.get(path)
      t.equal(status, 200, path)
      t.match(headers.get('content-security-policy'), /default-src 'self'.*frame-ancestors 'none'/)
      const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
      t.match(await client.call('GET', path, known), { status: 304, text: '' }, path)
    }
  })

  await t.test('all routes keep the conventions', async (t) => {
    await seed(database)
    const report = await assertConventions(client.app, {
      headers: { authorization: `Bearer ${await adminToken()}` },
      // The alias of a collection has no list.
      params: (name, url) => (url.startsWith('/v1/user/') && name === 'id' ? String(firstId) : undefined),
      exceptions: [
        { url: '/playground/quota', reason: 'its quota is smaller than the number of probes' },
        ...['/', '/.well-known/*', '/docs*', '/health', '/openapi.json', '/playground*'].map((url) => ({
          url,
          except: ['caching', 'fields', 'pathGuard', 'securityHeaders'] as const,
          reason: 'hidden from the OpenAPI document: not part of the API',
        })),
      ],
      writes: true,
    })
    t.ok(report.verdicts.length > 500, String(report.verdicts.length))
    const notProbed = ['/docs/static/*', '/playground/*', '/playground/docs/:name']
    const ofOperations = ['/v1/operations/:id', '/v1/operations/:id/status']
    t.strictSame([...report.notProbed].sort(), [...notProbed, ...ofOperations])
  })

  await t.test('the terms of service are in the language that the client prefers', async (t) => {
    for (const [asked, language, begin] of [
      ['fr;q=0.5, de-AT;q=0.9', 'de', /^Dies ist/],
      ['nl, FR;q=0.1', 'fr', /^Ceci est/],
      ['nl', 'en', /^This is/],
    ] as const) {
      const read = (headers = {}) =>
        client.call('GET', '/v1/terms', { headers: { 'accept-language': asked, ...headers } })
      const answer = await read()
      t.match(answer, { status: 200, json: { text: begin } }, asked)
      t.equal(answer.headers.get('content-language'), language)
      const kept = await read({ 'if-none-match': tagOf(answer) })
      t.match(kept, { status: 304, text: '' }, 'nothing has changed')
      for (const { headers } of [answer, kept]) {
        t.equal(headers.get('vary'), 'Accept-Language')
        t.equal(headers.get('cache-control'), 'public, max-age=3600', 'also with credentials')
      }
    }
  })
})
