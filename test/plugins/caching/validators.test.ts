/** RFC 9110 §8.8: entity tags, lists of them, what they are made of, and `Last-Modified` from the dates in a payload. */
import fc from 'fast-check'
import t from 'tap'
import { byteTag, loadHash } from '../../../src/plugins/caching/byte-tag.js'
import {
  entityTagOf,
  isEntityTag,
  latestTime,
  parseEntityTags,
  payloadDate,
  tagOfVersion,
} from '../../../src/plugins/caching/preconditions.js'
import { inRuns } from '../../support/property.js'

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
  for (const [text, tag] of Object.entries({ '"v7"': '"v7"', 'W/"v7"': 'W/"v7"', v7: '"v7"', '': '""' }))
    t.equal(entityTagOf(text), tag)
  for (const text of ['a b', 'a"b', '"a', 'a\n', '\u0100', 'W/"a', '"é"', 'é'])
    t.throws(() => entityTagOf(text), TypeError, JSON.stringify(text))
})

t.test('different versions have different tags', async () => {
  const confusing = fc.array(fc.constantFrom('a', ' ', '%', '%20', '2', '"')).map((all) => all.join(''))
  const version = fc.oneof(fc.string({ unit: 'grapheme' }), confusing)
  inRuns(2_000, version, version, (one, other) => {
    const [first, second] = [tagOfVersion(one), tagOfVersion(other)]
    return isEntityTag(first) && (first === second) === (one === other)
  })
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

const now = Date.parse('2026-11-20T12:00:00.700Z')
const latestModified = (payload: unknown, member = 'updated_at') =>
  payloadDate(payload, member, now)?.lastModified ?? null
const at = (time: string) => Date.parse(`2026-11-${time}Z`)

t.test('Last-Modified of an item is its own time', async (t) => {
  for (const [updated_at, time] of [
    [new Date('2026-11-19T10:00:00.999Z'), at('19T10:00:00')],
    ['2026-11-19T12:00:00+02:00', at('19T10:00:00')],
    ['2026-11-19t10:00:00.999999z', at('19T10:00:00')],
    // RFC 9110 §8.8.2.1: a time in the future becomes the current time.
    ['2026-11-20T12:00:00.800Z', at('20T12:00:00')],
    [new Date('2030-01-01T00:00:00Z'), at('20T12:00:00')],
    [null, null],
    [1_795_168_800, null],
    ['2026-11-19', null],
    ['2026-02-30T10:00:00Z', null],
    ['Thu, 19 Nov 2026 10:00:00 GMT', null],
    [new Date('never'), null],
    [{ toString: () => '2026-11-19T10:00:00Z' }, null],
  ])
    t.equal(latestModified({ id: 1, updated_at }), time, JSON.stringify(updated_at))
  const items = [{ updated_at: '2026-11-20T10:00:00Z' }]
  t.equal(latestModified({ updated_at: '2026-11-19T10:00:00Z', items }), at('19T10:00:00'))
  t.equal(latestModified({ changed: '2026-11-19T10:00:00Z' }, 'changed'), at('19T10:00:00'))
  for (const payload of [{ id: 1 }, null, '2026-11-19T10:00:00Z', undefined])
    t.equal(latestModified(payload), null, JSON.stringify(payload))
})

t.test('Last-Modified of a list is the latest of its items', async (t) => {
  const times = ['17T10:00:00.5Z', '19T10:00:00Z', '18T23:59:59+02:00', '19T09:59:59.999Z']
  const items = times.map((time, id) => ({ id, updated_at: `2026-11-${time}` }))
  for (const payload of [items, { total: 4, users: items }, items.toReversed(), Array(1000).fill(items[1])])
    t.equal(latestModified(payload), at('19T10:00:00'))
  const mixed = [...items, { updated_at: new Date('2026-11-19T11:00:00Z') }]
  t.equal(latestModified({ users: mixed }), at('19T11:00:00'))
})

t.test('a list with an item without a valid time has no Last-Modified', async (t) => {
  const item = { updated_at: '2026-11-19T10:00:00Z' }
  const others = [{ id: 2 }, { updated_at: null }, { updated_at: '2026-11-18' }, 'x', null]
  for (const payload of [
    ...[{ users: [] }, ...others.map((other) => ({ users: [item, other] }))],
    ...[{ users: Array(1001).fill(item) }, { users: [item], orders: [item] }, { users: { first: item } }],
    // A hole.
    { users: Object.assign([item], { 2: item }) },
  ])
    t.equal(latestModified(payload), null, JSON.stringify(payload).slice(0, 100))
})

t.test('only own properties are read', async (t) => {
  const date = '2026-11-19T10:00:00Z'
  const inherits = Object.create({ updated_at: date })
  for (const payload of [inherits, { users: [inherits] }, Object.create({ users: [{ updated_at: date }] })])
    t.equal(latestModified(payload), null)
  for (const member of ['constructor', '__proto__']) t.equal(latestModified({}, member), null)
})

t.test('times as text are compared as times; an invalid one leaves the list without a date', async (t) => {
  const other = '2026-11-19T10:00:00Z'
  for (const [text, time] of [
    // RFC 3339 §5.6: `t` and `z` in lowercase are allowed; as characters they come after all others.
    ['2026-11-19t09:00:00Z', at('19T10:00:00')],
    ['2026-11-19T11:00:00z', at('19T11:00:00')],
    ['2026-11-19T11:00:00+00:00', at('19T11:00:00')],
    ['2026-11-19 11:00:00Z', null],
    ['2026-11-19_11:00:00.0Z', null],
    // Earlier than the other as characters, and yet no time.
    ['2026-02-30T10:00:00Z', null],
    ['0000-00-00T00:00:00Z', null],
    ['................... Z', null],
  ] as const) {
    t.equal(latestTime([text, other], now), time, text)
    t.equal(latestTime([other, text], now), time, text)
  }
})

t.test('a getter that throws is not an error: a response schema may leave it out', async (t) => {
  let read = 0
  const get = () => {
    read++
    throw new Error('it is not read')
  }
  const throwing = Object.defineProperty({}, 'secret', { get })
  t.equal(latestModified(throwing), null)
  t.equal(latestModified({ users: Array(1001).fill(throwing) }, 'secret'), null)
  t.equal(read, 0, 'items beyond the limit are not read')
  t.equal(latestModified({ users: [throwing] }, 'secret'), null)
})
