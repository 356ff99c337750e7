/** The header fields of a lifecycle (RFC 9745, RFC 8594, RFC 8288), its dates, and how links are merged. */
import fc from 'fast-check'
import t from 'tap'
import { lifecycleHeaders, lifecycleStatus } from '../../../src/plugins/versions/lifecycle.js'
import { lifecycleTime } from '../../../src/plugins/versions/lifecycle-time.js'
import { mergeLinks } from '../../../src/plugins/versions/merge-links.js'
import { versionReader } from '../../../src/plugins/versions/version-reader.js'

t.test('the example of RFC 9745 §2.1, and that of RFC 8594 §3', async (t) => {
  const headers = lifecycleHeaders({
    deprecated: Date.parse('2023-06-30T23:59:59.999Z'),
    sunset: Date.parse('2018-12-31T23:59:59Z'),
    links: { sunset: '/s' },
  })
  t.strictSame(headers, {
    deprecation: '@1688169599',
    sunset: 'Mon, 31 Dec 2018 23:59:59 GMT',
    link: '</s>; rel="sunset"',
  })
  const nothing = lifecycleHeaders({ deprecated: null, sunset: null, links: {} })
  t.strictSame(nothing, { deprecation: null, sunset: null, link: null })
})

t.test('the status turns with the second that the header names', async (t) => {
  const lifecycle = { deprecated: 1_900, sunset: 3_999, links: {} }
  const rows = [
    [999, 'current'],
    [1_000, 'deprecated'],
    [2_999, 'deprecated'],
    [3_000, 'retired'],
  ] as const
  for (const [now, status] of rows) t.equal(lifecycleStatus(lifecycle, now), status, String(now))
})

t.test('forms of a time', async (t) => {
  const rows: readonly (readonly [given: unknown, iso: string | null])[] = [
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T01:00:00+01:00', '2027-01-31T00:00:00.000Z'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    ['2027-02-29', null],
    ['2027-1-1', null],
    ['2027-01-31T00:00:00', null],
    ['Sun, 31 Jan 2027 00:00:00 GMT', null],
    ['', null],
    [new Date('never'), null],
    [new Date(-8.64e15), null],
    [0, null],
    [null, null],
  ]
  for (const [given, iso] of rows) {
    const time = lifecycleTime(given)
    t.equal(time === null ? null : new Date(time).toISOString(), iso, String(given))
  }
})

t.test('the version of a path', async (t) => {
  const read = versionReader('')
  const rows = [
    ['/v1', '1'],
    ['/v1/users/:id', '1'],
    ['/v12/users?x=/v3', '12'],
    ['/v1?x=1', '1'],
    ['/v0/', '0'],
    ['http://host/v2/users', '2'],
    ['/v01', null],
    ['/V1', null],
    ['/v1a', null],
    ['/v1.1', null],
    ['/users/v1', null],
    ['/', null],
    ['*', null],
  ] as const
  for (const [path, version] of rows) t.equal(read(path), version, path)
  t.equal(versionReader('/api')('/api/v3/x'), '3')
  t.equal(versionReader('/api')('/v3/x'), null)
})

t.test('links are merged: none is lost, and adding again adds nothing', async (t) => {
  t.equal(mergeLinks(undefined, '</a>; rel="a"'), '</a>; rel="a"')
  t.equal(mergeLinks('', '</a>; rel="a"'), '</a>; rel="a"')
  t.equal(
    mergeLinks(['</x>; rel="x"', '</y>; rel="y"'], '</a>; rel="a"'),
    '</x>; rel="x", </y>; rel="y", </a>; rel="a"',
  )
  const link = fc.webPath().map((path) => `<${path}>; rel="next"`)
  fc.assert(
    fc.property(fc.array(link), link, (before, added) => {
      const once = mergeLinks(before, added)
      return mergeLinks(once, added) === once && [...before, added].every((one) => once.includes(one))
    }),
  )
})
