/** RFC 9110 §8.8.3: entity tags, lists of them, how they are compared, and what they are made of. */
import fc from 'fast-check'
import t from 'tap'
import { byteTag, loadHash } from '../../../src/plugins/caching/byte-tag.js'
import {
  entityTagOf,
  isEntityTag,
  parseEntityTags,
  tagOfVersion,
} from '../../../src/plugins/caching/preconditions.js'

t.test('RFC 9110 §8.8.3: an entity tag is a quoted opaque text, W/ in front of a weak one', async (t) => {
  const special = ['"W/"', '"*"', '"a,b"', '"a\\"', '"!#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~"', '"\x80\xe9\xff"']
  for (const text of ['"xyzzy"', 'W/"xyzzy"', '""', 'W/""', ...special]) {
    t.equal(isEntityTag(text), true, text)
    t.same(parseEntityTags(text), [text], text)
  }
})

t.test('RFC 9110 §8.8.3: text without quotes, or with other characters, is not an entity tag', async (t) => {
  const unquoted = ['', 'xyzzy', 'W/xyzzy', '"', 'W/"', '"xyzzy', 'xyzzy"', "'xyzzy'", ' "a"', '"a" ', '"a"b']
  const prefixed = ['W', 'W/', 'w/"xyzzy"', 'W /"xyzzy"', 'W/ "xyzzy"', 'W\\"xyzzy"', 'W/W/"xyzzy"']
  const others = ['"a b"', '"a\tb"', '"a\x00b"', '"a\x7fb"', '"a\u0100b"', '"a"b"', '"a","b"']
  for (const text of [...unquoted, ...prefixed, ...others])
    t.equal(isEntityTag(text), false, JSON.stringify(text))
})

t.test('an entity tag is not changed, other text is quoted', async (t) => {
  t.equal(entityTagOf('"v7"'), '"v7"')
  t.equal(entityTagOf('W/"v7"'), 'W/"v7"')
  t.equal(entityTagOf('v7'), '"v7"')
  t.equal(entityTagOf(''), '""')
  for (const text of ['a b', 'a"b', '"a', 'a\n', '\u0100', 'W/"a', '"é"', 'é'])
    t.throws(() => entityTagOf(text), TypeError, JSON.stringify(text))
})

t.test('different versions have different tags', async () => {
  const version = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(fc.constantFrom('a', ' ', '%', '%20', '2', '"')).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(version, version, (one, other) => {
      const [first, second] = [tagOfVersion(one), tagOfVersion(other)]
      return isEntityTag(first) && (first === second) === (one === other)
    }),
    { numRuns: 2_000 },
  )
})

t.test('a tag is the XXH64 of the bytes; of a string, of its UTF-8 bytes', async (t) => {
  await loadHash()
  // The test vectors of the specification of xxHash: no bytes, and "abc".
  t.equal(byteTag(''), `"${0xef46db3751d8e999n.toString(36)}"`)
  t.equal(byteTag('abc'), `"${0x44bc2cf5ad770999n.toString(36)}"`)
  t.equal(byteTag(Buffer.from('xabc').subarray(1)), byteTag('abc'), 'of a part of a buffer, that part')
})

t.test('content of any length has the tag of its bytes, and one byte more or less changes it', async (t) => {
  for (const length of [1, 31, 32, 262_143, 262_144, 262_145, 600_000]) {
    const text = 'Zoë \u{1f600} '.repeat(length).slice(0, length)
    t.equal(byteTag(text), byteTag(Buffer.from(text)), `${length} characters`)
    t.equal(isEntityTag(byteTag(text)), true)
    t.not(byteTag(text), byteTag(text.slice(1)), `without the first of ${length}`)
    t.not(byteTag(text), byteTag(`${text.slice(0, -1)}x`), `with another last of ${length}`)
  }
})
