/** Fields of requests and responses: RFC 9110 §5.6, §12.5.5 (`Vary`); RFC 9112 §3.2 (`Host`); RFC 8288 §3; RFC 9111 §5.2.2. */
import fc from 'fast-check'
import t from 'tap'
import * as fields from '../../src/http/header-fields.js'
import { superlinearSeeds } from '../support/growth.js'
import { forAll } from '../support/property.js'

t.test('a valid Host is a name or an address, with or without a port', async (t) => {
  const names = ['', 'a', 'a:', 'A.example:8080', 'a_b', '%41', "!$&'()*+,;="]
  const addresses = ['127.0.0.1', '[::1]', '[::1]:3000', '[v1a.a:b]']
  const noNames = ['a b', 'u@h', 'h:abc', 'h:80:80', 'a/b', 'a?b', 'a#b', '%4', 'a, b', 'é', 'a\\b', '"a"']
  for (const host of [...names, ...addresses]) t.ok(fields.isHostValue(host), host)
  for (const host of [...noNames, '[::1', '::1', '[]', '[v1.]']) t.notOk(fields.isHostValue(host), host)
})

t.test('a list is split at commas, but not in quoted strings', async (t) => {
  const rows: readonly (readonly [fieldValue: string, members: readonly string[]])[] = [
    ['', []],
    [' , ,', []],
    [' a ,b,, c ', ['a', 'b', 'c']],
    ['a="b, c", d', ['a="b, c"', 'd']],
    ['a="b\\", c", d', ['a="b\\", c"', 'd']],
    ['a="b\\\\", c', ['a="b\\\\"', 'c']],
  ]
  for (const [fieldValue, members] of rows) t.strictSame(fields.listMembers(fieldValue), members, fieldValue)
})

t.test('a member is split at semicolons, and the name of a directive ends at the equals sign', async (t) => {
  t.strictSame(fields.memberParts('text/html ; level="1;2" ; q=0.5'), ['text/html', 'level="1;2"', 'q=0.5'])
  t.strictSame(fields.memberParts('; a'), ['', 'a'])
  t.equal(fields.quoted('a"b\\"c'), '"a\\"b\\\\\\"c"')
  const names = ['Max-Age = 5', 'no-store', 'a=b=c', ''].map(fields.directiveName)
  t.strictSame(names, ['max-age', 'no-store', 'a', ''])
})

t.test('links as a header value (RFC 8288 §3)', async (t) => {
  const links = ['/sunset', '/v2/users?a=7'].map((href) => ({ href, rel: 'next' }))
  t.equal(fields.formatLinks(links), '</sunset>; rel="next", </v2/users?a=7>; rel="next"')
  t.equal(fields.formatLinks([]), '')
})

t.test('links are added: none is lost, and none is added twice', async (t) => {
  for (const before of [undefined, ' ']) t.equal(fields.addLinks(before, '</a>; rel="a"'), '</a>; rel="a"')
  const link = fc.webPath().map((path) => `<${path}>; rel="next"`)
  forAll(link, link, (before, added) => {
    const once = fields.addLinks(before, added)
    return fields.addLinks(once, added) === once && [before, added].every((one) => once.includes(one))
  })
})

t.test('parameters of a link to the next page', async (t) => {
  const rows: readonly (readonly [query: string, set: Record<string, string>, href: string])[] = [
    ['', {}, '/v1/users'],
    ['', { before_id: '7' }, '/v1/users?before_id=7'],
    ['limit=2', { before_id: '7' }, '/v1/users?limit=2&before_id=7'],
    ['before_id=9&limit=2', { before_id: '7' }, '/v1/users?limit=2&before_id=7'],
    ['before_id=9', {}, '/v1/users'],
    ['fields=name%2Cage', { before_id: '7' }, '/v1/users?fields=name%2Cage&before_id=7'],
    ['', { before_time: '2026-01-02T03:04:05Z' }, '/v1/users?before_time=2026-01-02T03%3A04%3A05Z'],
  ]
  for (const [query, set, href] of rows)
    t.equal(fields.hrefWith('/v1/users', query, ['before_id'], set), href, query)
  for (const path of ['//v1/users', '///v1/users', '/\\v1/users', '\\\\v1/users'])
    t.equal(fields.hrefWith(path, 'a=1', [], {}), '/v1/users?a=1', `${path} is not a host`)
  t.equal(fields.hrefWith('', 'a=1', [], {}), '?a=1')
  t.equal(fields.hrefWith('/p', 'a=1&b=2', [], { a: '3' }), '/p?a=1&b=2&a=3', 'what is not replaced stays')
})

t.test('any query: no throw, and the result is a valid header value', async () => {
  const anyText = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  forAll(fc.oneof(fc.string(), anyText), (query) => {
    const href = fields.hrefWith('/p', query, ['a'], { b: query })
    const value = fields.formatLinks([{ href, rel: 'next' }])
    return /^<\/p\?[\x21-\x3d\x3f-\x7e]+>; rel="next"$/.test(value)
  })
})

t.test('links about the service stay, whole, without those of a representation', async (t) => {
  const rows: readonly (readonly [current: string, kept: string | null])[] = [
    ['</a>; rel="next",</v2>;rel="successor-version"', '</v2>;rel="successor-version"'],
    ['</a,b>; rel=next, </v2>; title="a, b"; rel=sunset', '</v2>; title="a, b"; rel=sunset'],
    ['</a>; rel="next"', null],
    ['', null],
  ]
  for (const [current, kept] of rows) t.equal(fields.serviceLinks(current), kept, current)
})

t.test('public and s-maxage let shared caches store a response (RFC 9111 §5.2.2.9, §5.2.2.10)', async (t) => {
  for (const value of ['public', 'max-age=5, s-maxage=60', 'S-MaxAge=60', 'no-cache, Public'])
    t.equal(fields.isForSharedCaches(value), true, value)
  for (const value of ['', 'private', 'no-cache, max-age=5', 'x-public', 'a="public, s-maxage=5"'])
    t.equal(fields.isForSharedCaches(value), false, value)
})

t.test('private is added unless a directive decides who may store (RFC 9111 §3.5, §5.2.2)', async (t) => {
  const rows: readonly (readonly [before: string, after: string])[] = [
    ['', 'private'],
    [' ', 'private'],
    ['max-age=60', 'max-age=60, private'],
    ['no-cache="public, private"', 'no-cache="public, private", private'],
    ['x="a\\", public"', 'x="a\\", public", private'],
  ]
  for (const [before, after] of rows) t.equal(fields.withPrivate(before), after, before)
  const simple = ['public', 'private', 'no-store', 's-maxage=600', 'PUBLIC, max-age=60', 'no-cache, No-Store']
  const others = ['max-age=60,public', 'Private="Set-Cookie", max-age=60', 'max-age=60, S-MaxAge = 600']
  for (const value of [...simple, ...others, 'x="y", public']) t.equal(fields.withPrivate(value), value)
})

t.test('shared caches are kept from storing (RFC 9111 §5.2.2.7)', async (t) => {
  const rows: readonly (readonly [before: string | undefined, after: string])[] = [
    [undefined, 'private'],
    ['public, max-age=5, S-MaxAge=9', 'max-age=5, private'],
    ['Private="a, b", proxy-revalidate, no-cache', 'no-cache, private'],
    ['No-Store, public', 'No-Store, public'],
  ]
  for (const [before, after] of rows) t.equal(fields.privateOnly(before), after, String(before))
})

t.test('RFC 9110 §12.5.5: names are merged without case and repeats, in the first order', async (t) => {
  type Value = string | readonly string[]
  const rows: readonly (readonly [current: Value | undefined, names: Value, merged: string])[] = [
    [undefined, ['Origin', 'Accept'], 'Origin, Accept'],
    ['origin', ['ORIGIN', 'accept', 'Accept'], 'origin, accept'],
    [' Origin ,, Accept ,', 'Origin', 'Origin, Accept'],
    [['Origin', 'Accept, Origin'], ['accept', 'Cookie'], 'Origin, Accept, Cookie'],
    [undefined, [], ''],
    // `*` replaces all other names.
    [undefined, '*', '*'],
    ['*', 'Origin', '*'],
    ['Origin', '*', '*'],
    [['Origin', '*'], ['Accept', '*'], '*'],
    ['*', [], '*'],
  ]
  for (const [current, names, merged] of rows)
    t.equal(fields.mergeVary(current, names), merged, JSON.stringify([current, names]))
})

t.test('RFC 9110 §5.1: an invalid field name is refused, whatever the Vary has', async (t) => {
  for (const name of ['Accept Encoding', 'Accept:', 'Ac"cept', 'Größe', 'a\r\nb', 'a;b', 'a(b)']) {
    t.equal(fields.isFieldName(name), false, JSON.stringify(name))
    t.throws(() => fields.mergeVary(undefined, name), TypeError, JSON.stringify(name))
    t.throws(() => fields.mergeVary('*', ['Origin', name]), TypeError, JSON.stringify(name))
  }
  t.equal(fields.isFieldName(''), false)
  t.equal(fields.isFieldName("!#$%&'*+-.^_`|~09azAZ"), true)
  t.equal(fields.mergeVary('what others wrote', 'Origin'), 'what others wrote, Origin')
})

t.test('a merger returns the same as mergeVary(), whatever was merged before', async (t) => {
  const merge = fields.varyMerger(['Origin', 'accept'])
  for (const current of [undefined, 'Accept', 'Accept', 'cookie', undefined, '*', '', undefined])
    t.equal(merge(current), fields.mergeVary(current, ['Origin', 'accept']), String(current))
})

t.test('the values of a cookie, in order, without the empty ones', async (t) => {
  const rows: readonly (readonly [header: string, values: readonly string[]])[] = [
    ['', []],
    ['a=1; session=b; c=3', ['b']],
    ['session=; session=a', ['a']],
    [' session = a ;session=b', ['a', 'b']],
    ['session=a=b==', ['a=b==']],
    ['xsession=a; session2=b; Session=c', []],
  ]
  for (const [header, values] of rows) t.strictSame(fields.cookieValues(header, 'session'), values, header)
})

t.test('Set-Cookie: a name and a value, empty if the cookie is removed', async (t) => {
  const rows: readonly (readonly [header: string, read: unknown])[] = [
    ['session=a; Path=/; HttpOnly', { name: 'session', value: 'a' }],
    [' session = a=b ;Max-Age=10', { name: 'session', value: 'a=b' }],
    ['session=a; Path=/;max-age=0', { name: 'session', value: '' }],
    ['session=a; Max-Age = -10', { name: 'session', value: '' }],
    ['session=a; x-Max-Age=0', { name: 'session', value: 'a' }],
    ['session=a; Max-Age=01', { name: 'session', value: 'a' }],
    ['session', null],
    ['=a', null],
    ['', null],
  ]
  for (const [header, read] of rows) t.strictSame(fields.readSetCookie(header), read, header)
})

t.test('Host lines are counted in any case', async (t) => {
  t.notOk(fields.isRepeated(['Host', 'a', 'Ghost', 'b', 'host-x', 'c', 'x', 'host'], 'host'))
  t.ok(fields.isRepeated(['Host', 'a', 'x', 'y', 'hOST', 'a'], 'host'))
})

t.test('the value of a field is found by its name in any case, and not by a value', async (t) => {
  const rawHeaders = ['X', 'authorization', 'AUTHORIZATION', 'Bearer a', 'y', 'z']
  t.equal(rawHeaders[fields.valueIndex(rawHeaders, 'authorization')], 'Bearer a')
  t.equal(fields.valueIndex(rawHeaders, 'z'), -1)
})

t.test('the time that a field takes is linear in its length', async (t) => {
  const pieces = ['"', '"\\', '\\"', '"a', ',', '",', ';', ' ', '=', 'a', '%41', '[', ':', '[v1.', '1.', '%']
  for (const read of [fields.isHostValue, fields.listMembers, fields.withPrivate])
    t.strictSame(await superlinearSeeds(pieces, read as (text: string) => unknown), [], read.name)
})
