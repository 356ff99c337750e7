/** `Cache-Control` of a response (RFC 9111 §5.2.2): who may store it. */
import fc from 'fast-check'
import t from 'tap'
import { isForSharedCaches, privateOnly, withPrivate } from '../../src/http/header-fields.js'
import { superlinearSeeds } from '../support/growth.js'

t.test('public and s-maxage let shared caches store a response (RFC 9111 §5.2.2.9, §5.2.2.10)', async (t) => {
  for (const value of ['public', 'max-age=5, s-maxage=60', 'S-MaxAge=60', 'no-cache, Public'])
    t.equal(isForSharedCaches(value), true, value)
  for (const value of ['', 'private', 'no-cache, max-age=5', 'x-public', 'a="public, s-maxage=5"'])
    t.equal(isForSharedCaches(value), false, value)
})

t.test('private is added if no directive decides who may store the response', async (t) => {
  const rows: readonly (readonly [before: string, after: string])[] = [
    ['', 'private'],
    [' ', 'private'],
    ['max-age=60', 'max-age=60, private'],
    ['no-cache="public, private"', 'no-cache="public, private", private'],
    ['x="a\\", public"', 'x="a\\", public", private'],
  ]
  for (const [before, after] of rows) t.equal(withPrivate(before), after, before)
})

t.test('directives that decide who may store are not changed (RFC 9111 §3.5, §5.2.2)', async (t) => {
  const simple = ['public', 'private', 'no-store', 's-maxage=600', 'PUBLIC, max-age=60', 'no-cache, No-Store']
  const others = ['max-age=60,public', 'Private="Set-Cookie", max-age=60', 'max-age=60, S-MaxAge = 600']
  for (const value of [...simple, ...others, 'x="y", public']) t.equal(withPrivate(value), value)
})

t.test('shared caches are kept from storing (RFC 9111 §5.2.2.7)', async (t) => {
  const rows: readonly (readonly [before: string | undefined, after: string])[] = [
    [undefined, 'private'],
    ['public, max-age=5, S-MaxAge=9', 'max-age=5, private'],
    ['Private="a, b", proxy-revalidate, no-cache', 'no-cache, private'],
    ['No-Store, public', 'No-Store, public'],
  ]
  for (const [before, after] of rows) t.equal(privateOnly(before), after, String(before))
})

t.test('private is added once, in linear time', async (t) => {
  const part = fc.constantFrom('no-cache', 'public', 'private', 'a="', '"', '\\', ',', ' ', '=', 'max-age=5')
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const once = withPrivate(parts.join(''))
      return once.endsWith('private') || once === parts.join('')
    }),
  )
  t.strictSame(await superlinearSeeds(['"', '"\\', '\\"', '"a', ',', '='], withPrivate), [])
})
