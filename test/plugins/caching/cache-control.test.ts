/** RFC 9111 §5.2.2, RFC 5861, RFC 8246: the directives of `Cache-Control`. */
import fc from 'fast-check'
import t from 'tap'
import { withPrivate } from '../../../src/http/cache-control.js'
import {
  type CacheDirectives,
  cacheControl,
  cacheControlFaults,
} from '../../../src/plugins/caching/cache-control.js'
import { superlinearSeeds } from '../../support/growth.js'

const names = [
  'public',
  'private',
  'noCache',
  'noStore',
  'noTransform',
  'mustRevalidate',
  'proxyRevalidate',
  'mustUnderstand',
  'maxAge',
  'sMaxAge',
  'staleWhileRevalidate',
  'staleIfError',
  'immutable',
]

t.test('RFC 9111 §5.2.2: each directive by its name', async (t) => {
  const rows: readonly (readonly [section: string, directives: CacheDirectives, value: string])[] = [
    ['RFC 9111 §5.2.2.1', { maxAge: 60 }, 'max-age=60'],
    ['RFC 9111 §5.2.2.1', { maxAge: 0 }, 'max-age=0'],
    ['RFC 9111 §5.2.2.2', { mustRevalidate: true }, 'must-revalidate'],
    ['RFC 9111 §5.2.2.3', { mustUnderstand: true, noStore: true }, 'no-store, must-understand'],
    ['RFC 9111 §5.2.2.4', { noCache: true }, 'no-cache'],
    ['RFC 9111 §5.2.2.4', { noCache: ['Set-Cookie'] }, 'no-cache="Set-Cookie"'],
    ['RFC 9111 §5.2.2.4', { noCache: ['Set-Cookie', 'X-Seen'] }, 'no-cache="Set-Cookie, X-Seen"'],
    ['RFC 9111 §5.2.2.5', { noStore: true }, 'no-store'],
    ['RFC 9111 §5.2.2.6', { noTransform: true }, 'no-transform'],
    ['RFC 9111 §5.2.2.7', { private: true }, 'private'],
    ['RFC 9111 §5.2.2.7', { private: ['Set-Cookie'] }, 'private="Set-Cookie"'],
    ['RFC 9111 §5.2.2.8', { proxyRevalidate: true }, 'proxy-revalidate'],
    ['RFC 9111 §5.2.2.9', { public: true }, 'public'],
    ['RFC 9111 §5.2.2.10', { sMaxAge: 600 }, 's-maxage=600'],
    ['RFC 5861 §3', { maxAge: 60, staleWhileRevalidate: 30 }, 'max-age=60, stale-while-revalidate=30'],
    ['RFC 5861 §4', { maxAge: 60, staleIfError: 86_400 }, 'max-age=60, stale-if-error=86400'],
    [
      'RFC 8246 §2',
      { public: true, maxAge: 31_536_000, immutable: true },
      'public, max-age=31536000, immutable',
    ],
    ['none', {}, ''],
    ['what is false or undefined is not there', { noStore: false, private: false, maxAge: undefined }, ''],
    ['2^31', { maxAge: 2 ** 31 }, 'max-age=2147483648'],
  ]
  for (const [section, directives, value] of rows) {
    t.equal(cacheControl(directives), value, `${section}: ${JSON.stringify(directives)}`)
  }
})

t.test('the order in which directives are given makes no difference', async () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(names), (keys) => {
      const given = (order: readonly string[]): CacheDirectives =>
        Object.fromEntries(order.map((key) => [key, /age|stale/i.test(key) ? 5 : true]))
      const written = cacheControl(given(keys))
      return (
        written === cacheControl(given([...keys].reverse())) &&
        written.split(', ').filter((part) => part !== '').length === keys.length
      )
    }),
  )
})

t.test('compatible directives have no faults', async (t) => {
  const rows: readonly CacheDirectives[] = [
    {},
    { noCache: true },
    { noStore: true },
    { private: true, noCache: true },
    { public: true, maxAge: 60 },
    { public: true, maxAge: 60, sMaxAge: 600, staleWhileRevalidate: 30, staleIfError: 86_400 },
    { public: true, maxAge: 31_536_000, immutable: true },
    { private: true, maxAge: 60, staleWhileRevalidate: 30 },
    { private: true, maxAge: 31_536_000, immutable: true },
    { maxAge: 60, mustRevalidate: true },
    { maxAge: 60, proxyRevalidate: true, staleIfError: 60 },
    { maxAge: 60, noTransform: true },
    // Set twice, without a contradiction.
    { noStore: true, noCache: true, mustRevalidate: true, private: true },
    { noCache: true, maxAge: 0 },
    { noCache: true, mustRevalidate: true },
    { mustRevalidate: true, maxAge: 60, staleWhileRevalidate: 0 },
    // RFC 9111 §5.2.2.3: for a cache that knows the status code, no-store is not there.
    { mustUnderstand: true, noStore: true },
    { mustUnderstand: true, noStore: true, public: true, maxAge: 60 },
    // RFC 9111 §5.2.2.4, §5.2.2.7: the lists are of these fields only.
    { public: true, private: ['Set-Cookie'], sMaxAge: 60 },
    { noCache: ['Set-Cookie'], maxAge: 60, immutable: true, staleIfError: 5 },
    { maxAge: 0 },
    { maxAge: 2 ** 31 },
    { noStore: true, public: false, maxAge: undefined },
    { private: true, sMaxAge: undefined },
  ]
  for (const directives of rows) t.same(cacheControlFaults(directives), [], JSON.stringify(directives))
})

t.test('a redundant directive is not an error', async (t) => {
  const restrictions: readonly CacheDirectives[] = [
    { noCache: true },
    { private: true },
    { noStore: true },
    { noTransform: true },
    { mustRevalidate: true },
    { proxyRevalidate: true },
    { maxAge: 0 },
    { sMaxAge: 0 },
    { staleWhileRevalidate: 0 },
    { staleIfError: 0 },
  ]
  for (const one of restrictions)
    for (const other of restrictions)
      t.same(cacheControlFaults({ ...one, ...other }), [], JSON.stringify([one, other]))
  t.same(cacheControlFaults(Object.assign({}, ...restrictions)), [], 'all of them')
})

t.test('each contradiction names the section of the RFC', async (t) => {
  const rows: readonly (readonly [directives: CacheDirectives, words: RegExp, section: string])[] = [
    [{ public: true, private: true }, /^public .*private/, 'RFC 9111 §5.2.2.7, §5.2.2.9'],
    [{ noStore: true, maxAge: 60 }, /^noStore .*maxAge/, 'RFC 9111 §5.2.2.5'],
    [{ noStore: true, sMaxAge: 60 }, /^noStore .*sMaxAge/, 'RFC 9111 §5.2.2.5'],
    [{ noStore: true, public: true }, /^noStore .*public/, 'RFC 9111 §5.2.2.5'],
    [{ noStore: true, staleIfError: 5 }, /^noStore .*stale/, 'RFC 9111 §5.2.2.5'],
    [{ noStore: true, staleWhileRevalidate: 5 }, /^noStore .*stale/, 'RFC 9111 §5.2.2.5'],
    [{ noStore: true, private: ['Set-Cookie'] }, /^noStore .*field names/, '§5.2.2.7'],
    [{ noStore: true, noCache: ['Set-Cookie'] }, /^noStore .*field names/, '§5.2.2.4'],
    [{ mustUnderstand: true }, /^mustUnderstand .*noStore/, 'RFC 9111 §5.2.2.3'],
    [{ mustUnderstand: true, maxAge: 60 }, /^mustUnderstand .*noStore/, 'RFC 9111 §5.2.2.3'],
    [{ private: true, sMaxAge: 60 }, /^sMaxAge .*private/, 'RFC 9111 §5.2.2.7, §5.2.2.10'],
    [{ immutable: true }, /^immutable .*maxAge/, 'RFC 8246 §2'],
    [{ immutable: true, maxAge: 0 }, /^immutable .*maxAge/, 'RFC 8246 §2'],
    [{ immutable: true, sMaxAge: 60 }, /^immutable .*maxAge/, 'RFC 8246 §2'],
    [{ noCache: true, maxAge: 60 }, /^noCache .*maxAge/, 'RFC 9111 §5.2.2.4'],
    [{ noCache: true, sMaxAge: 60 }, /^noCache .*maxAge/, 'RFC 9111 §5.2.2.4'],
    [{ noCache: true, staleWhileRevalidate: 5 }, /^noCache .*stale/, 'RFC 9111 §4.2.4'],
    [{ noCache: true, staleIfError: 5 }, /^noCache .*stale/, 'RFC 9111 §4.2.4'],
    [
      { mustRevalidate: true, maxAge: 60, staleWhileRevalidate: 5 },
      /^mustRevalidate .*stale/,
      'RFC 9111 §4.2.4, §5.2.2.2',
    ],
    [
      { mustRevalidate: true, maxAge: 60, staleIfError: 5 },
      /^mustRevalidate .*stale/,
      'RFC 9111 §4.2.4, §5.2.2.2',
    ],
  ]
  for (const [directives, words, section] of rows) {
    const faults = cacheControlFaults(directives)
    t.equal(faults.length, 1, JSON.stringify(directives))
    t.match(faults[0], words, JSON.stringify(directives))
    t.ok(faults[0]?.includes(section), `${section} of ${faults[0]}`)
  }
  const several = cacheControlFaults({
    noCache: true,
    maxAge: 60,
    immutable: true,
    public: true,
    private: true,
  })
  t.equal(several.length, 3, 'all at once')
  t.equal(cacheControlFaults({ noStore: true, immutable: true }).length, 2, 'noStore, and no maxAge')
})

t.test('RFC 9111 §1.2.2: times are whole seconds, up to 2^31', async (t) => {
  for (const seconds of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31 + 1, '60', null, true, 5n]) {
    for (const key of ['maxAge', 'sMaxAge', 'staleWhileRevalidate', 'staleIfError']) {
      const faults = cacheControlFaults({ [key]: seconds } as CacheDirectives)
      t.equal(faults.length, 1, `${key} of ${String(seconds)}`)
      t.match(faults[0], new RegExp(`^${key} .*seconds.*RFC 9111 §1\\.2\\.2`))
    }
  }
})

t.test('RFC 9111 §5.2.2: invalid values and unknown directives are faults', async (t) => {
  const rows: readonly (readonly [directives: object, words: RegExp])[] = [
    [{ noStore: 'yes' }, /^noStore must be true or false$/],
    [{ public: 1 }, /^public must be true or false$/],
    [{ immutable: null }, /^immutable must be true or false$/],
    [{ noCache: [] }, /^noCache must be true, false or a list of header field names/],
    [{ private: 'Set-Cookie' }, /^private must be true, false or a list/],
    [{ private: ['Set Cookie'] }, /^private must be/],
    [{ noCache: ['a"\r\nb'] }, /^noCache must be/],
    [{ noCache: ['a', 5] }, /^noCache must be/],
    [{ maxage: 60 }, /^maxage is not a directive; expected one of public, .*maxAge/],
    [{ 'max-age': 60 }, /^max-age is not a directive/],
    [{ constructor: true }, /^constructor is not a directive/],
  ]
  for (const [directives, words] of rows) {
    const faults = cacheControlFaults(directives as CacheDirectives)
    t.equal(faults.length, 1, JSON.stringify(directives))
    t.match(faults[0], words)
  }
  t.equal(cacheControlFaults({ maxAge: -1, noStore: 'yes' } as unknown as CacheDirectives).length, 2)
})

t.test('the order of the directives, and false ones, do not change the faults', async () => {
  const seconds = fc.constantFrom(0, 60, undefined)
  const flag = fc.constantFrom(true, false, undefined)
  const listed = fc.constantFrom(true, false, undefined, ['Set-Cookie'])
  const any = fc.record(
    Object.fromEntries(
      names.map((key) => [
        key,
        /age|stale/i.test(key) ? seconds : key === 'private' || key === 'noCache' ? listed : flag,
      ]),
    ),
  )
  fc.assert(
    fc.property(any, (directives) => {
      const faults = cacheControlFaults(directives as CacheDirectives).join('\n')
      const present = Object.entries(directives).filter(([, value]) => value !== undefined && value !== false)
      return faults === cacheControlFaults(Object.fromEntries(present.reverse())).join('\n')
    }),
    { numRuns: 500 },
  )
})

t.test('private is added if no directive decides who may store the response', async (t) => {
  const rows: readonly (readonly [before: string, after: string])[] = [
    ['', 'private'],
    [' ', 'private'],
    ['no-cache', 'no-cache, private'],
    ['max-age=60', 'max-age=60, private'],
    ['max-age=60, must-revalidate', 'max-age=60, must-revalidate, private'],
    ['no-cache="public, private"', 'no-cache="public, private", private'],
    ['no-cache="a, public, b"', 'no-cache="a, public, b", private'],
    ['x="a\\", public"', 'x="a\\", public", private'],
    ['publicity, no-storey', 'publicity, no-storey, private'],
  ]
  for (const [before, after] of rows) t.equal(withPrivate(before), after, before)
})

t.test(
  'directives that decide who may store are not changed (RFC 9111 §3.5, §5.2.2.5, §5.2.2.7, §5.2.2.9)',
  async (t) => {
    for (const value of [
      'public',
      'PUBLIC, max-age=60',
      'max-age=60,public',
      'private',
      'Private="Set-Cookie", max-age=60',
      'no-store',
      'no-cache, No-Store',
      's-maxage=600',
      'max-age=60, S-MaxAge = 600',
      'x="y", public',
    ]) {
      t.equal(withPrivate(value), value)
    }
  },
)

t.test('private is added once, in linear time', async (t) => {
  const part = fc.constantFrom('no-cache', 'public', 'private', 'a="', '"', '\\', ',', ' ', '=', 'max-age=5')
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const once = withPrivate(parts.join(''))
      return once.endsWith('private') || once === parts.join('')
    }),
  )
  fc.assert(
    fc.property(fc.boolean(), fc.boolean(), fc.nat(99), (noCache, immutable, maxAge) => {
      const once = withPrivate(cacheControl({ noCache, immutable, maxAge }))
      return withPrivate(once) === once && once.endsWith('private')
    }),
  )
  t.strictSame(await superlinearSeeds(['"', '"\\', '\\"', '"a', ',', '='], withPrivate), [])
})
