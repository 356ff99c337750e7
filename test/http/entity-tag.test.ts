/** RFC 9110 §8.8.3: entity tags, lists of them, and how they are compared. */
import fc from 'fast-check'
import t from 'tap'
import {
  type EntityTag,
  formatEntityTag,
  isEntityTag,
  longestEntityTagList,
  mostEntityTags,
  parseEntityTag,
  parseEntityTags,
  strongMatch,
  weakMatch,
} from '../../src/http/entity-tag.js'

const anyUnit = fc.nat(0xffff).map((unit) => String.fromCharCode(unit))
const strong = (opaque: string): EntityTag => ({ weak: false, opaque })
const weak = (opaque: string): EntityTag => ({ weak: true, opaque })

const etagc = fc
  .oneof(fc.constant(0x21), fc.integer({ min: 0x23, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }))
  .map((code) => String.fromCharCode(code))
const anyTag: fc.Arbitrary<EntityTag> = fc.record({
  weak: fc.boolean(),
  opaque: fc.string({ unit: etagc }),
})

t.test('RFC 9110 §8.8.3: an entity tag is a quoted opaque text, W/ in front of a weak one', async (t) => {
  const rows: readonly (readonly [text: string, tag: EntityTag])[] = [
    ['"xyzzy"', strong('xyzzy')],
    ['W/"xyzzy"', weak('xyzzy')],
    ['""', strong('')],
    ['W/""', weak('')],
    ['"W/"', strong('W/')],
    ['"*"', strong('*')],
    ['"a,b"', strong('a,b')],
    ['"a\\"', strong('a\\')],
    ['"!#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~"', strong("!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")],
    ['"\x80\xe9\xff"', strong('\x80\xe9\xff')],
  ]
  for (const [text, tag] of rows) {
    t.same(parseEntityTag(text), tag, text)
    t.same(parseEntityTags(text), [tag], text)
    t.equal(isEntityTag(text), true, text)
    t.equal(formatEntityTag(tag), text)
  }
})

t.test('RFC 9110 §8.8.3: what is not quoted, or has other characters in it, is no entity tag', async (t) => {
  for (const text of [
    '',
    'xyzzy',
    'W/xyzzy',
    'W/',
    'W',
    '"',
    'W/"',
    '"xyzzy',
    'xyzzy"',
    "'xyzzy'",
    'w/"xyzzy"',
    'W /"xyzzy"',
    'W/ "xyzzy"',
    'W\\"xyzzy"',
    'W/W/"xyzzy"',
    '"a b"',
    '"a\tb"',
    '"a\nb"',
    '"a\x00b"',
    '"a\x7fb"',
    '"a\u0100b"',
    '"a"b"',
    '"a"b',
    '"a""b"',
    ' "a"',
    '"a" ',
    '"a","b"',
  ]) {
    t.equal(parseEntityTag(text), null, JSON.stringify(text))
    t.equal(isEntityTag(text), false, JSON.stringify(text))
  }
})

t.test('RFC 9110 §8.8.3: a tag that would have other characters cannot be written', async (t) => {
  for (const opaque of ['a"b', 'a b', 'a\r\nSet-Cookie: b', '\x7f', '\u0100', '€']) {
    t.throws(() => formatEntityTag(strong(opaque)), TypeError, JSON.stringify(opaque))
    t.throws(() => formatEntityTag(weak(opaque)), TypeError, JSON.stringify(opaque))
  }
})

t.test('RFC 9110 §8.8.3.2: strong and weak comparison, by the table of the RFC', async (t) => {
  const rows: readonly (readonly [one: string, other: string, strong: boolean, weak: boolean])[] = [
    ['W/"1"', 'W/"1"', false, true],
    ['W/"1"', 'W/"2"', false, false],
    ['W/"1"', '"1"', false, true],
    ['"1"', '"1"', true, true],
    ['"1"', '"2"', false, false],
    ['"a"', '"A"', false, false],
    ['""', '""', true, true],
    ['W/"W/1"', '"1"', false, false],
  ]
  for (const [one, other, strongly, weakly] of rows) {
    const [left, right] = [parseEntityTag(one), parseEntityTag(other)]
    if (left === null || right === null) throw new Error('the table has what is no tag')
    t.equal(strongMatch(left, right), strongly, `strongly, ${one} and ${other}`)
    t.equal(strongMatch(right, left), strongly, `strongly, ${other} and ${one}`)
    t.equal(weakMatch(left, right), weakly, `weakly, ${one} and ${other}`)
    t.equal(weakMatch(right, left), weakly, `weakly, ${other} and ${one}`)
  }
})

t.test('RFC 9110 §8.8.3.2: comparison is symmetric, and what matches strongly matches weakly', async () => {
  const near = fc.record({ weak: fc.boolean(), opaque: fc.constantFrom('', 'a', 'A', 'b') })
  fc.assert(
    fc.property(fc.oneof(near, anyTag), fc.oneof(near, anyTag), (one, other) => {
      const strongly = strongMatch(one, other)
      const weakly = weakMatch(one, other)
      return (
        strongMatch(other, one) === strongly &&
        weakMatch(other, one) === weakly &&
        (!strongly || weakly) &&
        weakMatch(one, one) &&
        strongMatch(one, one) === !one.weak
      )
    }),
  )
})

t.test(
  'RFC 9110 §5.6.1: a list has optional whitespace and empty elements, and commas inside of tags',
  async (t) => {
    const rows: readonly (readonly [text: string, tags: readonly EntityTag[]])[] = [
      ['"a", "b"', [strong('a'), strong('b')]],
      ['"a","b"', [strong('a'), strong('b')]],
      ['"a" ,"b"', [strong('a'), strong('b')]],
      ['"a"\t,\t W/"b"', [strong('a'), weak('b')]],
      ['"a", , "b"', [strong('a'), strong('b')]],
      [',"a",,"b",', [strong('a'), strong('b')]],
      [' , , "a"', [strong('a')]],
      ['"a" ', [strong('a')]],
      ['"a,b", "c"', [strong('a,b'), strong('c')]],
      ['","', [strong(',')]],
      ['"a", "a"', [strong('a'), strong('a')]],
      ['"*"', [strong('*')]],
      ['', []],
      [' ', []],
      [',', []],
      [' ,\t, ', []],
    ]
    for (const [text, tags] of rows) t.same(parseEntityTags(text), tags, JSON.stringify(text))
  },
)

t.test('RFC 9110 §13.1.1, §13.1.2: * stands alone', async (t) => {
  for (const text of ['*', ' *', '*\t']) t.equal(parseEntityTags(text), '*', JSON.stringify(text))
  for (const text of ['**', '*, *', '*,', ',*', '*, "a"', '"a", *', '* "a"', 'W/*', '"*', '*"']) {
    t.equal(parseEntityTags(text), null, JSON.stringify(text))
  }
})

t.test('RFC 9110 §5.6.1: what is no list of entity tags is none, whatever else is in it', async (t) => {
  for (const text of [
    'a',
    'a, b',
    '"a" "b"',
    '"a"W/"b"',
    '"a"; q=1',
    '"a", b',
    'a, "b"',
    '"a", "b',
    '"a", w/"b"',
    '"a", "b c"',
    '"a", \u00a0"b"',
    '"a"\n,"b"',
    'Sun, 06 Nov 1994 08:49:37 GMT',
  ]) {
    t.equal(parseEntityTags(text), null, JSON.stringify(text))
  }
})

t.test('a list is read up to a length and a count', async (t) => {
  const opaque = 'a'.repeat(longestEntityTagList - 2)
  t.same(parseEntityTags(`"${opaque}"`), [strong(opaque)])
  t.equal(parseEntityTags(`"${opaque}a"`), null)
  const list = (count: number): string => Array.from({ length: count }, () => '""').join(',')
  t.equal(parseEntityTags(list(mostEntityTags))?.length, mostEntityTags)
  t.equal(parseEntityTags(list(mostEntityTags + 1)), null)
  t.equal(parseEntityTags(list(mostEntityTags).replaceAll(',', ', ,,'))?.length, mostEntityTags)
})

t.test('what is formatted is read again, alone and in lists', async () => {
  const comma = fc.constantFrom(',', ', ', ' , ', '\t,', ', ,', ',,')
  fc.assert(
    fc.property(fc.array(anyTag, { maxLength: 20 }), comma, (tags, between) => {
      const parsed = parseEntityTags(tags.map(formatEntityTag).join(between))
      return JSON.stringify(parsed) === JSON.stringify(tags)
    }),
  )
  fc.assert(
    fc.property(anyTag, (tag) => {
      const text = formatEntityTag(tag)
      return isEntityTag(text) && JSON.stringify(parseEntityTag(text)) === JSON.stringify(tag)
    }),
  )
})

t.test('any text: what is read can be written, and is the same text where it is one tag', async () => {
  const near = fc.string({ unit: fc.constantFrom(...'W/"a, *\t\\é\x7f'), maxLength: 12 })
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: anyUnit })), (text) => {
      const one = parseEntityTag(text)
      if (isEntityTag(text) !== (one !== null)) return false
      if (one !== null && formatEntityTag(one) !== text) return false
      const tags = parseEntityTags(text)
      return tags === null || tags === '*' || tags.map(formatEntityTag).every((tag) => text.includes(tag))
    }),
    { numRuns: 2000 },
  )
})
