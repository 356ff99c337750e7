/** RFC 9111 §5.2.2, RFC 5861, RFC 8246: the directives of `Cache-Control`. */
import t from 'tap'
import { type CacheDirectives, cacheControl, directives } from '../../../src/plugins/caching/cache-control.js'

const check = (given: object) => directives('cacheControl', given)

t.test('RFC 9111 §5.2.2: each directive by its name', async (t) => {
  const rows: readonly (readonly [section: string, directives: CacheDirectives, value: string])[] = [
    ['RFC 9111 §5.2.2.1', { maxAge: 60 }, 'max-age=60'],
    ['RFC 9111 §5.2.2.1', { maxAge: 0 }, 'max-age=0'],
    ['RFC 9111 §5.2.2.2', { mustRevalidate: true }, 'must-revalidate'],
    ['RFC 9111 §5.2.2.4', { noCache: true }, 'no-cache'],
    ['RFC 9111 §5.2.2.5', { noStore: true }, 'no-store'],
    ['RFC 9111 §5.2.2.6', { noTransform: true }, 'no-transform'],
    ['RFC 9111 §5.2.2.7', { private: true }, 'private'],
    ['RFC 9111 §5.2.2.8', { proxyRevalidate: true }, 'proxy-revalidate'],
    ['RFC 9111 §5.2.2.9', { public: true }, 'public'],
    ['RFC 9111 §5.2.2.10', { sMaxAge: 600 }, 's-maxage=600'],
    ['RFC 5861 §3', { maxAge: 60, staleWhileRevalidate: 30 }, 'max-age=60, stale-while-revalidate=30'],
    ['RFC 5861 §4', { maxAge: 60, staleIfError: 86_400 }, 'max-age=60, stale-if-error=86400'],
    ['RFC 8246 §2', { maxAge: 60, immutable: true }, 'max-age=60, immutable'],
    ['none', {}, ''],
    ['what is false is not there', { noStore: false, private: false }, ''],
    ['2^31', { maxAge: 2 ** 31 }, 'max-age=2147483648'],
  ]
  for (const [section, directives, value] of rows) {
    t.equal(cacheControl(directives), value, `${section}: ${JSON.stringify(directives)}`)
  }
})

t.test('compatible and redundant directives have no faults', async (t) => {
  const flags = ['noCache', 'private', 'noStore', 'noTransform', 'mustRevalidate', 'proxyRevalidate']
  const times = ['maxAge', 'sMaxAge', 'staleWhileRevalidate', 'staleIfError']
  const restrictions = [...flags.map((name) => ({ [name]: true })), ...times.map((name) => ({ [name]: 0 }))]
  for (const given of [
    { public: true, maxAge: 60, sMaxAge: 600, staleWhileRevalidate: 30, staleIfError: 86_400 },
    { private: true, maxAge: 31_536_000, immutable: true, staleWhileRevalidate: 30 },
    { maxAge: 60, proxyRevalidate: true, staleIfError: 60, noTransform: true },
    { noStore: true, public: false },
    ...restrictions.flatMap((one) => restrictions.map((other) => ({ ...one, ...other }))),
    Object.assign({}, ...restrictions),
  ])
    t.doesNotThrow(() => check(given), JSON.stringify(given))
})

t.test('each contradiction throws, with the section of the RFC', async (t) => {
  const stale = [{ staleWhileRevalidate: 5 }, { staleIfError: 5 }]
  const rows: readonly (readonly [directives: CacheDirectives, words: RegExp])[] = [
    [{ public: true, private: true }, /: public .*private.*RFC 9111 §5\.2\.2\.7, §5\.2\.2\.9/],
    ...[{ maxAge: 60 }, { sMaxAge: 60 }, { public: true }, ...stale, { immutable: true }].map(
      (more) => [{ noStore: true, ...more }, /: noStore .*RFC 9111 §5\.2\.2\.5/] as const,
    ),
    [{ private: true, sMaxAge: 60 }, /: sMaxAge .*private.*RFC 9111 §5\.2\.2\.7, §5\.2\.2\.10/],
    ...[{}, { maxAge: 0 }, { sMaxAge: 60 }].map(
      (more) => [{ immutable: true, ...more }, /: immutable .*maxAge.*RFC 8246 §2/] as const,
    ),
    [{ noCache: true, maxAge: 60 }, /: noCache .*maxAge.*RFC 9111 §5\.2\.2\.4/],
    [{ noCache: true, sMaxAge: 60 }, /: noCache .*sMaxAge/],
    ...stale.flatMap((more) => [
      [{ noCache: true, ...more }, /: noCache .*stale.*RFC 9111 §4\.2\.4/] as const,
      [{ mustRevalidate: true, maxAge: 60, ...more }, /mustRevalidate forbid/] as const,
    ]),
  ]
  for (const [given, message] of rows)
    t.throws(() => check(given), { code: 'FST_CONV_OPTION_INVALID', message }, JSON.stringify(given))
})

t.test('RFC 9111 §1.2.2: times are whole seconds, up to 2^31', async (t) => {
  for (const seconds of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31 + 1, '60', null, true, 5n]) {
    for (const key of ['maxAge', 'sMaxAge', 'staleWhileRevalidate', 'staleIfError']) {
      const message = new RegExp(`cacheControl\\.${key}.*from 0 to 2147483648`)
      t.throws(() => check({ [key]: seconds }), { message }, `${key} of ${String(seconds)}`)
    }
  }
})

t.test('RFC 9111 §5.2.2: invalid values throw', async (t) => {
  for (const given of [{ noStore: 'yes' }, { public: 1 }, { immutable: null }, { private: ['Set-Cookie'] }])
    t.throws(() => check(given), { code: 'FST_CONV_OPTION_INVALID' }, JSON.stringify(given))
})
