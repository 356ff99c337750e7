import fc from 'fast-check'
import t from 'tap'
import { isEntityTag } from '../../../src/http/entity-tag.js'
import { entityTagOf, tagOfVersion } from '../../../src/plugins/caching/entity-tag-of.js'

t.test('an entity tag stays as it is, a text is put between quotes', async (t) => {
  t.equal(entityTagOf('"v7"'), '"v7"')
  t.equal(entityTagOf('W/"v7"'), 'W/"v7"')
  t.equal(entityTagOf('v7'), '"v7"')
  t.equal(entityTagOf(''), '""')
  for (const text of ['a b', 'a"b', '"a', 'a\n', '\u0100', 'W/"a', '"é"', 'é'])
    t.throws(() => entityTagOf(text), TypeError, JSON.stringify(text))
})

t.test('a version is a tag, whatever is in it', async (t) => {
  t.equal(tagOfVersion('7'), '"7"')
  t.equal(tagOfVersion('2026-11-19T08:00:00.123Z'), '"2026-11-19T08:00:00.123Z"')
  t.equal(tagOfVersion('2026-11-19 08:00'), '"2026-11-19%2008%3A00"')
  t.equal(tagOfVersion('"'), '"%22"')
  t.equal(tagOfVersion('%20'), '"%2520"')
  t.equal(tagOfVersion('é'), '"%C3%A9"')
})

t.test('different versions have different tags', async (t) => {
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
  t.pass()
})
