import fc from 'fast-check'
import t from 'tap'
import { isEntityTag } from '../../../src/http/entity-tag.js'
import { acceptsCoding, codedTag, tagAsNamed, uncodedTags } from '../../../src/plugins/caching/coded-tags.js'

t.test('§8.8.3.3: a strong tag has the coding in it, a weak one holds for all', async (t) => {
  t.equal(codedTag('"a"', 'gzip'), '"a--gzip"')
  t.equal(codedTag('""', 'br'), '"--br"')
  t.equal(codedTag('W/"a"', 'gzip'), 'W/"a"')
})

t.test('a list is taken back to the tag, whatever coding it has, and nothing else is', async (t) => {
  const cases: readonly (readonly [list: string, tag: string, uncoded: string])[] = [
    ['"a--gzip"', '"a"', '"a"'],
    ['"a--br", "b--br","a--zstd"', '"a"', '"a", "b--br","a"'],
    ['W/"a--gzip"', '"a"', 'W/"a"'],
    ['"a--lzma"', '"a"', '"a--lzma"'],
    ['"a--gzip--gzip"', '"a--gzip"', '"a--gzip"'],
    ['"a--gzip"', 'W/"a"', '"a--gzip"'],
    ['"a"', '"a"', '"a"'],
    ['*', '"a"', '*'],
    ['"$&--gzip"', '"$&"', '"$&"'],
    ['"$$--gzip"', '"$$"', '"$$"'],
    ['"$1$`--gzip"', '"$1$`"', '"$1$`"'],
  ]
  for (const [list, tag, uncoded] of cases) t.equal(uncodedTags(list, tag), uncoded, `${list} of ${tag}`)
  t.equal(
    uncodedTags('"a--gzip", "a--br"', '"a"', (coding) => coding === 'br'),
    '"a--gzip", "a"',
  )
})

t.test('a tag is named as the list has it', async (t) => {
  t.equal(tagAsNamed('"a"', '"a--gzip"'), '"a--gzip"')
  t.equal(tagAsNamed('"a"', 'W/"a--br"'), '"a--br"')
  t.equal(tagAsNamed('"a"', '"a--gzip", "a"'), '"a"')
  t.equal(tagAsNamed('"a"', '"b--gzip"'), '"a"')
  t.equal(tagAsNamed('"a"', '*'), '"a"')
  t.equal(
    tagAsNamed('"a"', '"a--gzip"', () => false),
    '"a"',
  )
})

t.test('for every tag and coding: there and back again', async (t) => {
  const opaque = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  })
  const tags = opaque.map((text) => `"${text.replaceAll('"', '')}"`)
  fc.assert(
    fc.property(tags, fc.constantFrom('br', 'deflate', 'gzip', 'zstd'), (tag, coding) => {
      const coded = codedTag(tag, coding)
      return isEntityTag(coded) && uncodedTags(coded, tag) === tag && tagAsNamed(tag, coded) === coded
    }),
  )
  t.pass()
})

t.test('§12.5.3: which codings a caller takes', async (t) => {
  const cases: readonly (readonly [acceptEncoding: string | undefined, coding: string, accepts: boolean])[] =
    [
      [undefined, 'gzip', false],
      ['', 'gzip', false],
      ['gzip', 'gzip', true],
      ['GZIP', 'gzip', true],
      ['br, gzip;q=0.5', 'gzip', true],
      ['gzip;q=0', 'gzip', false],
      ['gzip ; q=0.000', 'gzip', false],
      ['gzip;Q=0.0', 'gzip', false],
      ['gzip;q=0.001', 'gzip', true],
      ['*', 'gzip', true],
      ['*;q=0', 'gzip', false],
      ['*;q=0, gzip', 'gzip', true],
      ['gzip;q=0, *', 'gzip', false],
      ['identity', 'gzip', false],
      ['xgzip', 'gzip', false],
    ]
  for (const [acceptEncoding, coding, accepts] of cases)
    t.equal(acceptsCoding(acceptEncoding, coding), accepts, String(acceptEncoding))
})
