/** Decisions §4: contradictory directives are found before a request comes. */
import fc from 'fast-check'
import t from 'tap'
import { type CacheDirectives, directiveNames } from '../../../src/plugins/caching/cache-control.js'
import { cacheControlFaults } from '../../../src/plugins/caching/cache-control-faults.js'

t.test('directives that go together have no faults', async (t) => {
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
    // Said twice, but not against each other.
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

t.test('a directive that forbids what another forbids already is redundant, not an error', async (t) => {
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

t.test('each contradiction is told with its section', async (t) => {
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
    [{ noCache: true, maxAge: 60 }, /^noCache .*fresh/, 'RFC 9111 §5.2.2.4'],
    [{ noCache: true, sMaxAge: 60 }, /^noCache .*fresh/, 'RFC 9111 §5.2.2.4'],
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

t.test('RFC 9111 §5.2.2: what a directive cannot have is told, and what is no directive', async (t) => {
  const rows: readonly (readonly [directives: object, words: RegExp])[] = [
    [{ noStore: 'yes' }, /^noStore has to be true or false$/],
    [{ public: 1 }, /^public has to be true or false$/],
    [{ immutable: null }, /^immutable has to be true or false$/],
    [{ noCache: [] }, /^noCache has to be true, false or a list of header field names/],
    [{ private: 'Set-Cookie' }, /^private has to be true, false or a list/],
    [{ private: ['Set Cookie'] }, /^private has to be/],
    [{ noCache: ['a"\r\nb'] }, /^noCache has to be/],
    [{ noCache: ['a', 5] }, /^noCache has to be/],
    [{ maxage: 60 }, /^maxage is no directive; expected one of public, .*maxAge/],
    [{ 'max-age': 60 }, /^max-age is no directive/],
    [{ constructor: true }, /^constructor is no directive/],
  ]
  for (const [directives, words] of rows) {
    const faults = cacheControlFaults(directives as CacheDirectives)
    t.equal(faults.length, 1, JSON.stringify(directives))
    t.match(faults[0], words)
  }
  t.equal(cacheControlFaults({ maxAge: -1, noStore: 'yes' } as unknown as CacheDirectives).length, 2)
})

t.test('no fault comes or goes by the order of the directives, or by one that is false', async () => {
  const seconds = fc.constantFrom(0, 60, undefined)
  const flag = fc.constantFrom(true, false, undefined)
  const listed = fc.constantFrom(true, false, undefined, ['Set-Cookie'])
  const any = fc.record(
    Object.fromEntries(
      Object.keys(directiveNames).map((key) => [
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
