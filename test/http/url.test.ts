/** Targets of requests, patterns of routes, and origins: where a request is from, as browsers tell (Fetch, RFC 6454). */
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import * as url from '../../src/http/url.js'

type Fields = Readonly<Record<string, string | readonly string[]>>
type Cases = readonly (readonly [about: string, fields: Fields, isElsewhere: boolean])[]

const here = 'https://api.example'
const other = 'https://other.example'
const host = 'api.example'

t.test('Fetch Metadata: Sec-Fetch-Site decides if it is sent', async (t) => {
  const cases: Cases = [
    ['neither it nor Origin', {}, false],
    ['nor do others tell', { host, 'x-forwarded-host': 'other.example', referer: other }, false],
    ['a page of this origin', { 'sec-fetch-site': 'same-origin' }, false],
    ['no page: the user', { 'sec-fetch-site': 'none' }, false],
    ['another origin of the same site', { 'sec-fetch-site': 'same-site' }, true],
    ['another site', { 'sec-fetch-site': 'cross-site' }, true],
    ['no value', { 'sec-fetch-site': '' }, true],
    ['two values', { 'sec-fetch-site': 'same-origin, cross-site' }, true],
    ['the referrer policy no-referrer', { 'sec-fetch-site': 'same-origin', origin: 'null', host }, false],
    ['behind a proxy that changes Host', { 'sec-fetch-site': 'same-origin', origin: here, host: 'a' }, false],
  ]
  for (const [about, fields, isElsewhere] of cases) t.equal(url.isCrossOrigin(fields, []), isElsewhere, about)
})

t.test('RFC 6454 §7: without Sec-Fetch-Site, Origin has the host and port of the request', async (t) => {
  const cases: Cases = [
    ['this origin', { origin: here, host }, false],
    ['another one', { origin: other, host }, true],
    ['RFC 9110 §4.2.3: a host in another case', { origin: here, host: 'API.Example' }, false],
    ['RFC 6454 §5: another port', { origin: `${here}:8443`, host }, true],
    ['RFC 6454 §4: the default port of the scheme', { origin: here, host: `${host}:443` }, false],
    ['a scheme is not compared', { origin: 'http://api.example', host }, false],
    ['a name that this one ends with', { origin: 'https://evil-api.example', host }, true],
    ['a name that begins with this one', { origin: 'https://api.example.evil.example', host }, true],
    ['a user that is called so', { origin: 'https://api.example@evil.example', host }, true],
    ['RFC 6454 §6.2: null', { origin: 'null', host }, true],
    ['null, to a host of that name', { origin: 'null', host: 'null' }, true],
    ['null, to what follows a scheme', { origin: 'null', host: '://null' }, true],
    ['an app with a scheme of its own', { origin: 'capacitor://api.example', host }, true],
    ['RFC 6454 §7.1: several', { origin: `${here} ${other}`, host }, true],
    ['a missing host', { origin: here }, true],
  ]
  for (const [about, fields, isElsewhere] of cases) t.equal(url.isCrossOrigin(fields, []), isElsewhere, about)
})

t.test('the authority is Host, :authority (RFC 9113 §8.3.1) or X-Forwarded-Host', async (t) => {
  const inner = '10.0.0.7:3000'
  const cases: Cases = [
    [':authority', { origin: here, ':authority': host }, false],
    ['X-Forwarded-Host', { origin: here, host: inner, 'x-forwarded-host': host }, false],
    ['of several, the nearest', { origin: here, host: inner, 'x-forwarded-host': `a, ${host}` }, false],
    ['and not the first', { origin: here, host: inner, 'x-forwarded-host': `${host}, a` }, true],
    ['not the name behind it', { origin: `http://${inner}`, host: inner, 'x-forwarded-host': host }, true],
  ]
  for (const [about, fields, isElsewhere] of cases) t.equal(url.isCrossOrigin(fields, []), isElsewhere, about)
})

t.test('an origin in formOrigins is allowed, and no other', async (t) => {
  const named = [other, 'capacitor://localhost']
  const cases: Cases = [
    ['named', { origin: other, host }, false],
    ['named, of another site', { origin: other, 'sec-fetch-site': 'cross-site', host }, false],
    ['an app', { origin: 'capacitor://localhost', 'sec-fetch-site': 'cross-site', host }, false],
    ['none, of another site', { 'sec-fetch-site': 'cross-site', host }, true],
    ['null', { origin: 'null', 'sec-fetch-site': 'cross-site', host }, true],
  ]
  for (const [about, fields, isElsewhere] of cases)
    t.equal(url.isCrossOrigin(fields, named), isElsewhere, about)
})

const target = fc
  .string({ unit: fc.constantFrom(...'aZ09/%5Ae.~-_ \\"?#é𐀀;='), maxLength: 24 })
  .map((text) => `/${text}`)

t.test('path and query of a request target', async (t) => {
  const rows: readonly (readonly [target: string, path: string, query: string])[] = [
    ['/v1/users?', '/v1/users', ''],
    ['/v1/users?a=1&b=2', '/v1/users', 'a=1&b=2'],
    ['/v1/users?a=1#f', '/v1/users', 'a=1'],
    ['http://h/v1/users?a=1', '/v1/users', 'a=1'],
    ['https://h:8443/', '/', ''],
    ['http://h?x=/Y', '', 'x=/Y'],
    ['/proxy?to=http://h/x', '/proxy', 'to=http://h/x'],
    ['//h/v1', '//h/v1', ''],
  ]
  for (const [text, path, query] of rows) {
    t.equal(url.pathOf(text), path, `path of ${text}`)
    t.equal(url.queryOf(text), query, `query of ${text}`)
  }
})

t.test('the absolute form (RFC 9112 §3.2.2) is read as its path', async () => {
  const authority = fc.constantFrom('http://h', 'https://H.EXAMPLE:8080', 'http://[::1]:3000', 'HTTP://u:P@h')
  fc.assert(fc.property(authority, target, (start, text) => url.pathOf(start + text) === url.pathOf(text)))
})

type Kind = url.PathSegment['kind']

t.test('the kinds of segments', async (t) => {
  const rows: readonly (readonly [pattern: string, ...segments: (readonly [kind: Kind, text: string])[]])[] =
    [
      ['/v1/users', ['literal', 'v1'], ['literal', 'users']],
      ['/users/:id', ['literal', 'users'], ['parameter', ':id']],
      ['/users/:id(^\\d+$)', ['literal', 'users'], ['parameter', ':id(^\\d+$)']],
      ['/:id([a-z]{2}(x|y))/z', ['parameter', ':id([a-z]{2}(x|y))'], ['literal', 'z']],
      ['/:lat-:lng', ['mixed', ':lat-:lng']],
      ['/:hour(^\\d{2}$)h:minute(^\\d{2}$)m', ['mixed', ':hour(^\\d{2}$)h:minute(^\\d{2}$)m']],
      ['/files/*', ['literal', 'files'], ['wildcard', '*']],
      ['*', ['wildcard', '*']],
      ['/:id(\\d+)*', ['mixed', ':id(\\d+)*']],
      ['/:id(\\))/x', ['parameter', ':id(\\))'], ['literal', 'x']],
      ['/:id-(a)/b', ['mixed', ':id-(a)'], ['literal', 'b']],
      ['/orders::batch', ['literal', 'orders:batch']],
      ['', ['literal', '']],
      ['/users/', ['literal', 'users'], ['literal', '']],
      ['/v1//users', ['literal', 'v1'], ['literal', ''], ['literal', 'users']],
    ]
  for (const [pattern, ...segments] of rows) {
    const expected = segments.map(([kind, text]) => ({ kind, text }))
    t.same(url.routePath(pattern), expected, pattern)
    t.equal(url.hasParameter(pattern), !expected.every(({ kind }) => kind === 'literal'))
  }
})

t.test('the path of a health route has no parameter and ends in one of the names', async (t) => {
  const paths = ['/readyz', '/v1/health', '/:id/health', '/health/*', '/health/users', '/v1-health']
  t.strictSame(paths.filter(url.isHealthPath), paths.slice(0, 2))
})

t.test('the parts of a segment: literal text, with :: unescaped, and parameters', async (t) => {
  const rows: readonly (readonly [text: string, ...parts: (readonly [literal: boolean, text: string])[]])[] =
    [
      [''],
      ['orders::batch', [true, 'orders:batch']],
      [':id', [false, ':id']],
      [':id(\\d+)?', [false, ':id(\\d+)?']],
      ['a::b:id-::c', [true, 'a:b'], [false, ':id'], [true, '-:c']],
      [':lat-:lng', [false, ':lat'], [true, '-'], [false, ':lng']],
      [':id-*', [false, ':id'], [true, '-*']],
    ]
  for (const [text, ...parts] of rows) {
    const expected = parts.map(([literal, part]) => ({ literal, text: part }))
    t.same(url.segmentParts(text), expected, text)
  }
})

t.test('the router splits a pattern at the same places', async (t) => {
  const rows: readonly (readonly [pattern: string, path: string, params: Record<string, string>])[] = [
    ['/a(b/:c', '/a(b/1', { c: '1' }],
    ['/:id(\\))/x', '/)/x', { id: ')' }],
    ['/:id-(a)/b', '/1-(a)/b', { id: '1' }],
    ['/:h(\\d+)h:m(\\d+)', '/12h30', { h: '12', m: '30' }],
    ['/:a_:b', '/1_2', { 'a_:b': '1_2' }],
    ['/:id::x', '/1', { 'id::x': '1' }],
    ['/:id(\\d+)::x', '/1:x', { id: '1' }],
    ['/backup-*', '/backup-a/b', { '*': 'a/b' }],
    ['/:id.x*', '/1.x*', { id: '1' }],
  ]
  for (const [pattern, url, params] of rows) {
    const app = Fastify()
    app.get(pattern, async (request) => request.params)
    t.same((await app.inject(url)).json(), params, pattern)
  }
})

t.test('an origin has a scheme, a host and a port, as browsers write them, and nothing else', async (t) => {
  const origins =
    'https://app.example http://localhost:5173 https://[::1]:8443 https://xn--bcher-kva.example ' +
    'capacitor://localhost x-https://localhost:443 chrome-extension://abcdefghijklmnop'
  for (const origin of origins.split(' ')) t.equal(url.webOrigin('origin', origin), origin)
  const plain =
    'https://app.example/ https://app.example/path https://app.example? https://APP.example ' +
    'HTTPS://app.example https://app.example:443 http://app.example:80 https://user@app.example ' +
    'capacitor://localhost/ https://*.app.example https://bücher.example https:// app.example ' +
    '//app.example null'
  const others = [['https://app.example'], '', ' https://a.example', 'https://a.example, https://b.example']
  for (const other of [...plain.split(' '), ...others])
    t.throws(() => url.webOrigin('origin', other), /^origin: /, String(other))
})
