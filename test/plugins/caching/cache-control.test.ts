/** RFC 9111 §5.2.2, RFC 5861, RFC 8246: `Cache-Control` written from directives. */
import fc from 'fast-check'
import t from 'tap'
import {
  type CacheDirectives,
  cacheControl,
  directiveNames,
} from '../../../src/plugins/caching/cache-control.js'

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
  const names = Object.keys(directiveNames)
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
