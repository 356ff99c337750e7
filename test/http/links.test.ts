/** RFC 8288 §3: the Link header, and links to the same resource with other parameters. */
import fc from 'fast-check'
import t from 'tap'
import { addLinks, formatLinks, hrefWith, serviceLinks } from '../../src/http/header-fields.js'

t.test('links as a header value (RFC 8288 §3)', async (t) => {
  const sunset = { href: 'https://docs.example/sunset', rel: 'sunset' }
  const links = [sunset, { href: '/v2/users', rel: 'successor-version' }]
  const expected = '<https://docs.example/sunset>; rel="sunset", </v2/users>; rel="successor-version"'
  t.equal(formatLinks(links), expected)
  t.equal(
    formatLinks([{ href: '/v1/users?before_id=7', rel: 'next' }]),
    '</v1/users?before_id=7>; rel="next"',
  )
  t.equal(formatLinks([]), '')
})

t.test('links are added: none is lost, and none is added twice', async (t) => {
  t.equal(addLinks(undefined, '</a>; rel="a"'), '</a>; rel="a"')
  t.equal(addLinks(' ', '</a>; rel="a"'), '</a>; rel="a"')
  const link = fc.webPath().map((path) => `<${path}>; rel="next"`)
  fc.assert(
    fc.property(link, link, (before, added) => {
      const once = addLinks(before, added)
      return addLinks(once, added) === once && [before, added].every((one) => once.includes(one))
    }),
  )
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
    t.equal(hrefWith('/v1/users', query, ['before_id'], set), href, query)
  for (const path of ['//v1/users', '///v1/users', '/\\v1/users', '\\\\v1/users'])
    t.equal(hrefWith(path, 'a=1', [], {}), '/v1/users?a=1', `${path} is not a host`)
  t.equal(hrefWith('', 'a=1', [], {}), '?a=1')
  t.equal(hrefWith('/p', 'a=1&b=2', [], { a: '3' }), '/p?a=1&b=2&a=3', 'what is not replaced stays')
})

t.test('any query: no throw, and the result is a valid header value', async () => {
  const anyText = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) })
  fc.assert(
    fc.property(fc.oneof(fc.string(), anyText), (query) => {
      const value = formatLinks([{ href: hrefWith('/p', query, ['a'], { b: query }), rel: 'next' }])
      return /^<\/p\?[\x21-\x3d\x3f-\x7e]+>; rel="next"$/.test(value)
    }),
  )
})

t.test('links about the service stay, whole, without those of a representation', async (t) => {
  const rows: readonly (readonly [current: string, kept: string | null])[] = [
    ['</a>; rel="next",</v2>;rel="successor-version"', '</v2>;rel="successor-version"'],
    ['</a,b>; rel=next, </v2>; title="a, b"; rel=sunset', '</v2>; title="a, b"; rel=sunset'],
    [
      '</d>; rel="deprecation"; type="text/html", </a>; rel="prev"',
      '</d>; rel="deprecation"; type="text/html"',
    ],
    ['</a>; rel="next"', null],
    ['', null],
  ]
  for (const [current, kept] of rows) t.equal(serviceLinks(current), kept, current)
})
