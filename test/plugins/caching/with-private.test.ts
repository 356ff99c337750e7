/** Decisions §4: what is answered to credentials is private, unless the route says otherwise. */
import fc from 'fast-check'
import t from 'tap'
import { cacheControl } from '../../../src/plugins/caching/cache-control.js'
import { withPrivate } from '../../../src/plugins/caching/with-private.js'

t.test('private is added where nothing says who may store', async (t) => {
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

t.test('what says who may store stays as it is (RFC 9111 §3.5, §5.2.2.5, §5.2.2.7, §5.2.2.9)', async (t) => {
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
})

t.test('private is added once, and no text takes long', async (t) => {
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
  const started = process.hrtime.bigint()
  for (const part of ['"', '"\\', '\\"', '"a', ',', '=']) withPrivate(part.repeat(100_000))
  t.ok(Number(process.hrtime.bigint() - started) / 1e9 < 5)
})
