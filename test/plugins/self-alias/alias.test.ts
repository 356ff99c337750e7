/** What becomes of the path, and of the tags of the response. */
import fc from 'fast-check'
import t from 'tap'
import { ownTarget, withCaller, withoutCaller } from '../../../src/plugins/self-alias/alias.js'

t.test('the target with the id in place of the alias', async (t) => {
  const place = { parameter: 'id', before: 2, after: 1 }
  const rows = [
    ['/v1/users/me/x?a=me&b', '/v1/users/7/x?a=me&b'],
    ['/api/v1/users/me/x', '/api/v1/users/7/x'],
    ['//v1/users/me/x', '/v1/users/7/x'],
    ['/v1/users/me/x/', '/v1/users/7/x/'],
    ['/v1/users/%6de/x', null],
    ['/elsewhere', null],
  ] as const
  for (const [target, own] of rows) t.equal(ownTarget(target, place, 'me', '7'), own, target)
})

t.test('an id in the path is encoded as one segment', async () => {
  const place = { parameter: 'id', before: 1, after: 0 }
  const id = fc.string({ unit: 'grapheme', minLength: 1 })
  fc.assert(
    fc.property(id, (id) => {
      const segments = ownTarget('/users/me', place, 'me', id)?.split('/') ?? []
      return segments.length === 3 && decodeURIComponent(segments[2] ?? '') === id
    }),
  )
})

t.test('a tag contains the caller', async (t) => {
  t.equal(withCaller('"v7"', '42'), '"v7;self=42"')
  t.equal(withCaller('W/"v7--gzip"', '42'), 'W/"v7--gzip;self=42"')
  t.equal(withCaller('nonsense', '42'), 'nonsense')
  t.equal(withoutCaller('"v6;self=42", W/"v7;self=42", "v7;self=4", *', '42'), '"v6", W/"v7", "v7;self=4", *')
  const id = fc.string({ unit: 'grapheme', minLength: 1 })
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9-]*$/), id, id, (text, id, other) => {
      const tag = `"${text}"`
      const marked = withCaller(tag, id)
      const isTag = /^"[\x21\x23-\x7e]*"$/.test(marked)
      const isOthers = id === other || withoutCaller(marked, other) === marked
      return isTag && isOthers && withoutCaller(marked, id) === tag && withCaller(marked, id) === marked
    }),
  )
})
