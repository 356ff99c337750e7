import fc from 'fast-check'
import t from 'tap'
import { isEntityTag } from '../../../src/http/entity-tag.js'
import { byteTag, sha1ByPieces } from '../../../src/plugins/caching/byte-tag.js'

t.test('a tag is that of the bytes: of a text, those of UTF-8', async (t) => {
  t.equal(byteTag(''), '"2jmj7l5rSw0yVb/vlWAYkK/YBwk"')
  t.equal(byteTag('{"name":"Zoë"}'), byteTag(Buffer.from('{"name":"Zoë"}')))
  t.equal(byteTag(new Uint8Array([97])), byteTag('a'))
  t.equal(byteTag(Buffer.from('xab').subarray(1)), byteTag('ab'), 'of a part of a buffer, that part')
})

t.test('whatever the bytes, it is a strong entity tag, and the same on every Node.js', async (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()), (bytes) => {
      const tag = byteTag(bytes)
      return isEntityTag(tag) && tag.startsWith('"') && `${tag.slice(1, -1)}=` === sha1ByPieces(bytes)
    }),
  )
  t.pass()
})

t.test('other bytes have another tag', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (one, other) => {
      return (byteTag(one) === byteTag(other)) === Buffer.from(one).equals(Buffer.from(other))
    }),
  )
  t.pass()
})
