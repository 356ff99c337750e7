import swagger from '@fastify/swagger'
import fc from 'fast-check'
import Fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import t from 'tap'
import { pathOf, routePath } from '../../../src/http/url.js'
import { pathGuard, problems } from '../../../src/index.js'
import { hasFault, segmentFaults } from '../../../src/plugins/path-guard/hooks.js'
import type { PathGuardOptions } from '../../../src/plugins/path-guard/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { superlinearSeeds } from '../../support/growth.js'
import { withoutReferences } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'
import { forAll } from '../../support/property.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const encodedDetail = 'A path has no characters that are, or would have to be, percent-encoded'

t.test('an uppercase path is a 404 that names the right one', async (t) => {
  const app = await appWithRoutes()
  for (const [url, lowercase] of [
    ['/v1/users/AbC', '/v1/users/abc'],
    ['/V1/USERS/ABC', '/v1/users/abc'],
    ['/v1/users/AbC?name=Ab%20C', '/v1/users/abc'],
    ['/nothing/At/all', '/nothing/at/all'],
    ['/v1/users/a%20B', '/v1/users/a%20b'],
    ['/v1/Users/%2F', '/v1/users/%2F'],
    ['/v1/Users/a%20b', '/v1/users/a%20b'],
  ] as const) {
    const detail = `A path is lowercase: ${lowercase}`
    const expected = { status: 404, code: 'path-uppercase', title: 'Path has uppercase letters', detail }
    for (const method of ['GET', 'OPTIONS'] as const)
      isProblem(t, injected(await app.inject({ method, url })), expected, `${method} ${url}`)
  }
})

t.test('behind rewriteUrl, no path is suggested: the client could not send it', async (t) => {
  const app = Fastify({ rewriteUrl: ({ url = '' }) => url.replace('/api/', '/') })
  await app.register(pathGuard)
  const details = { '/api/v1/Users': 'A path is lowercase', '/v1/Users': 'A path is lowercase: /v1/users' }
  for (const [url, detail] of Object.entries(details))
    isProblem(t, injected(await app.inject(url)), { status: 404, code: 'path-uppercase', detail }, url)
})

t.test('an encoded path is a 404', async (t) => {
  const app = await appWithRoutes()
  const targets = [
    ...['/v1/u%73ers', '/v1/users/a%20b', '/v1/users/%2f', '/v1/users/%c3%a4', '/v1/users/%252f'],
    ...['/v1/%2e%2e%2fusers', '/%00', '/v1/a%20b/Users', '/v1%2fusers'],
  ]
  const title = 'Path has encoded characters'
  const expected = { status: 404, code: 'path-encoded', title, detail: encodedDetail }
  for (const url of targets) isProblem(t, injected(await app.inject(url)), expected, url)
})

t.test('what would have to be encoded, and a dot segment, are refused raw as well', async (t) => {
  const { port } = await serve(t, await appWithRoutes())
  const refusals = {
    // RFC 3986 §3.3
    [encodedDetail]: [...'"<>[]^`{|}\\'].map((character) => `/v1/users/a${character}b`),
    // RFC 3986 §5.2.4
    'A path has no dot segments':
      '/v1/./users /v1/../users /v1/users/. /v1/users/.. /.. /v1/users/../%41'.split(' '),
  }
  for (const [detail, urls] of Object.entries(refusals)) {
    const expected = { status: 404, code: 'path-encoded', detail }
    for (const url of urls) isProblem(t, await ask(port, requestBytes('GET', url)), expected, url)
  }
  for (const id of ".a a. ... a 0 a-b a.b a_b ~a a!$&'()*+,=b a:b@c a;b=c me".split(' '))
    t.equal((await ask(port, requestBytes('GET', `/v1/users/${id}`))).body, JSON.stringify({ id }), id)
})

t.test('a target is checked by its path alone, also in absolute form (RFC 9112 §3.2.2)', async (t) => {
  const { port } = await serve(t, await appWithRoutes())
  for (const target of ['/v1/users?a=/B/%2F?C', '/v1/users#Ab%20C', 'http://Localhost/v1/users?Q=1'])
    t.equal((await ask(port, requestBytes('GET', target))).status, 200, target)
  const answer = await ask(port, requestBytes('GET', 'http://Localhost:80/v1/Users?Q=1'))
  isProblem(t, answer, { status: 404, code: 'path-uppercase', detail: 'A path is lowercase: /v1/users' })
})

t.test('it is never a redirect, and no handler runs; statusCode can be 400', async (t) => {
  const app = Fastify({ routerOptions: { caseSensitive: false } })
  const seen: string[] = []
  app.addHook('onRequest', async () => void seen.push('before'))
  await app.register(pathGuard, { statusCode: 400 })
  app.addHook('onRequest', async () => void seen.push('later'))
  app.get('/v1/users', async () => void seen.push('handler'))
  const response = await app.inject('/v1/Users')
  isProblem(t, injected(response), { status: 400, code: 'path-uppercase' })
  t.notOk('location' in response.headers)
  t.strictSame(seen, ['before'])
})

t.test('an empty segment is no value of a parameter, unless the rule slash is off', async (t) => {
  const statuses = async (config: RouteShorthandOptions, guard: PathGuardOptions = {}) => {
    const app = await appOf(problems, [pathGuard, guard])
    addEchoes(app, config, ['/v1/users/:id', '/v1/users/:id/orders', '/v1/teams/:id?', '/v1/trees/*'])
    const found: unknown[] = []
    for (const method of ['OPTIONS', 'DELETE'] as const)
      found.push((await app.inject({ method, url: '/v1/users/' })).statusCode)
    for (const url of ['/v1/users/', '/v1/users//orders', '/v1/users/7', '/v1/teams', '/v1/trees/']) {
      const { statusCode, body } = await app.inject(url)
      found.push(statusCode === 404 ? JSON.parse(body).code : JSON.parse(body))
    }
    return found
  }
  const served = [{ id: '7' }, {}, { '*': '' }]
  t.strictSame(await statuses({}), [404, 404, 'not-found', 'not-found', ...served])
  const off = { config: { pathGuard: { except: ['slash' as const], reason: 'An older client sends it' } } }
  t.strictSame((await statuses(off)).slice(2), [{ id: '' }, { id: '' }, ...served])
  const ofAll = await statuses({}, { rules: { slash: 'off' } })
  t.strictSame(ofAll, [204, 405, { id: '' }, { id: '' }, ...served])
})

t.test('params: any lets parameters be anything; literals stay strict', async (t) => {
  const any = { config: { pathGuard: { params: 'any' } } } as const
  const app = await withPlugins(Fastify({ routerOptions: { caseSensitive: false } }), pathGuard)
  addEchoes(app, any, ['/v1/links/:id', '/v1/links/:id/clicks/:day', '/v1/docs/:name.json'])
  addEchoes(app, any, ['/v1/optionals/:a/:b?', '/v1/trees/*', '/v1/numbers/:n(^[A-F0-9]+$)'])
  for (const [url, params] of [
    ['/v1/links/%c3%84', { id: 'Ä' }],
    ['/v1/links/%252F', { id: '%2F' }],
    ['/v1/links/a%3Fb%23c', { id: 'a?b#c' }],
    ['/v1/links/...', { id: '...' }],
    ['/v1/links/AbC/clicks/Monday', { id: 'AbC', day: 'Monday' }],
    ['/v1/docs/ReadMe.json', { name: 'ReadMe' }],
    ['/v1/optionals/A/B', { a: 'A', b: 'B' }],
    ['/v1/trees/Oak/old%20one', { '*': 'Oak/old one' }],
    ['/v1/numbers/FF', { n: 'FF' }],
  ] as const)
    t.strictSame((await app.inject(url)).json(), params, url)
  for (const url of ['/v1/Links/AbC', '/v1/links/AbC/Clicks/Monday', '/v1/links/AbC/other'])
    isProblem(t, injected(await app.inject(url)), { status: 404, code: 'path-uppercase' }, url)
  const expected = { status: 404, code: 'path-uppercase', detail: 'A path is lowercase: /v1/links/Links' }
  isProblem(t, injected(await app.inject('/v1/Links/Links')), expected, 'with its parameter')
  isProblem(t, injected(await app.inject('/v1/l%69nks/AbC')), { status: 404, code: 'path-encoded' })
})

t.test('params: any of the plugin is for all routes, unless one has lowercase ids', async (t) => {
  const app = await appOf([pathGuard, { params: 'any' }])
  addEchoes(app, {}, ['/v1/customers/:id'])
  addEchoes(app, { config: { pathGuard: { params: 'lowercase' } } }, ['/v1/pages/:slug'])
  for (const id of ['cus_NffrFeUfNV2Hib', '01ARZ3NDEKTSV4RRFFQ69G5FAV', 'V1StGXR8_Z5jdHi6B-myT']) {
    t.equal((await app.inject(`/v1/customers/${id}`)).statusCode, 200, id)
  }
  const refused = { status: 404, code: 'path-uppercase' }
  isProblem(t, injected(await app.inject('/v1/Customers/cus_NffrFeUfNV2Hib')), refused)
  isProblem(t, injected(await app.inject('/v1/pages/About')), refused)
  isProblem(t, injected(await app.inject('/v1/unknown/AbC')), refused)
})

t.test('the document has the refusals of routes with parameters, where they can happen', async (t) => {
  const app = await appOf([swagger, { openapi: {} }], pathGuard)
  const routes: readonly (readonly [path: string, options: object | false, codes: readonly string[]])[] = [
    ['/v1/users/{id}', {}, ['path-uppercase', 'path-encoded']],
    ['/v1/users/{id}/orders', { rules: { uppercase: 'report' } }, ['path-encoded']],
    ['/v1/users/{id}/links', { mode: 'report' }, []],
    ['/v1/users/{id}/files', { params: 'any' }, []],
    ['/v1/users', {}, []],
    ['/v1/trees/{*}', false, []],
    ['/v1/files/{*}', { mode: 'enforce' }, ['path-uppercase', 'path-encoded']],
  ]
  for (const [path, pathGuard] of routes)
    app.get(path.replace('{id}', ':id').replace('{*}', '*'), { config: { pathGuard } as object }, () => ({}))
  await app.ready()
  const { paths } = withoutReferences(app.swagger()) as { readonly paths: Record<string, object> }
  for (const [path, , codes] of routes) {
    const found = JSON.stringify(paths[path]).match(/path-[a-z]+/g) ?? []
    t.strictSame([...new Set(found)], codes, path)
    t.equal('404' in (paths[path] as { get: { responses: object } }).get.responses, codes.length > 0, path)
  }
})

t.test('a parameter that decodes to a slash, a dot segment or a control character is refused', async (t) => {
  const app = await appOf(pathGuard)
  addEchoes(app, { config: { pathGuard: { params: 'any' } } }, ['/v1/links/:id', '/v1/trees/*'])
  const { port } = await serve(t, app)
  const harmful = [
    '..',
    '.',
    '%2F',
    'a%2Fb',
    '%2e%2e',
    '%2E',
    '%00',
    'a%0D%0Ab',
    '%09',
    '%1b',
    '%7F',
    '%5C',
    'a%5cb',
  ]

  for (const text of harmful) {
    for (const url of [`/v1/links/${text}`, `/v1/trees/a/${text}`]) {
      isProblem(t, await ask(port, requestBytes('GET', url)), { status: 404, code: 'path-encoded' }, url)
    }
  }
})

t.test('the time of a refusal is linear in the length of the path, and its detail is short', async (t) => {
  const app = Fastify({ routerOptions: { maxParamLength: 1_000_000 } })
  await app.register(problems)
  await app.register(pathGuard)
  addEchoes(app, {}, ['/v1/users/:id'])
  addEchoes(app, { config: { pathGuard: { params: 'any' } } }, ['/v1/links/*'])
  const seeds = ['/\\', '/A', 'A', '/%41', '%41', '/.', '/..', '/.A', '//', '/a', '/A%2F', '/{', 'é']
  for (const start of ['/', '/v1/users/', '/v1/links/', 'http://localhost/']) {
    let longest = 0
    const ask = async (text: string): Promise<void> => {
      const { payload } = await app.inject(`${start}${text}`)
      longest = Math.max(longest, payload.length)
    }
    t.strictSame(await superlinearSeeds(seeds, ask), [], start)
    t.ok(start === '/v1/links/' || longest < 1500, `${start}: ${longest} characters`)
  }
})

const user = routePath('/v1/users/:id')
/** What a path may have: pchar without percent-encoding and uppercase letters, the slash; and what ends it. */
const fine = /[a-z0-9\-._~!$&'()*+,;=:@/?#]/

// Reaches every branch soon: letters of both cases, whole and broken escapes, all delimiters.
const target = fc.string({ unit: fc.constantFrom(...'aZ09/%5Ae.~-_ \\"?#é𐀀;='), maxLength: 24 })

t.test('the characters of a path (RFC 3986 §3.3), for every character of ASCII and one beyond', async (t) => {
  for (let code = 0; code < 129; code++) {
    const character = String.fromCharCode(code)
    t.equal(hasFault(`/a${character}b`), !fine.test(character), `character ${code}`)
  }
})

t.test('a path with a fault has it in one of its segments', async () => {
  forAll(target, (end) => {
    const text = `/${end}`
    const faults = segmentFaults(pathOf(text), null, false)
    return (faults.length === 0) === !hasFault(text)
  })
})

t.test('params: any, every allowed value can be an id, if it is encoded', async (t) => {
  const value = fc
    .string({ unit: 'grapheme' })
    .filter((text) => text.isWellFormed() && !/[\p{Cc}/\\]|^\.{1,2}$/u.test(text))
  forAll(value, (id) => segmentFaults(`/v1/users/${encodeURIComponent(id)}`, user, true).length === 0)
  const faults = (path: string) => segmentFaults(path, user, true).map(({ fault }) => fault)
  t.strictSame(faults('/v1/users/%zz'), ['encoding'], 'a broken escape')
  t.strictSame(faults('/v1/users/a/B'), ['uppercase'], 'behind the route')
})

async function appWithRoutes(): Promise<FastifyInstance> {
  const app = await appOf(problems, pathGuard)
  addEchoes(app, {}, ['/v1/users', '/v1/users/:id'])
  return app
}

function addEchoes(app: FastifyInstance, options: RouteShorthandOptions, paths: readonly string[]): void {
  for (const path of paths) app.get(path, options, async (request) => request.params)
}
