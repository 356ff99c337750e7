/** `Last-Modified` from the dates in a payload. */
import fc from 'fast-check'
import t from 'tap'
import { latestTime, payloadDate } from '../../../src/plugins/caching/validators.js'

const now = Date.parse('2026-11-20T12:00:00.700Z')
const latestModified = (payload: unknown, member: string): number | null =>
  payloadDate(payload, member, now)?.lastModified ?? null
const at = (time: string): number => Date.parse(`2026-11-${time}Z`)

t.test('Last-Modified of an item is its own time', async (t) => {
  const rows: readonly (readonly [payload: unknown, time: number | null])[] = [
    [{ id: 1, updated_at: new Date('2026-11-19T10:00:00Z') }, at('19T10:00:00')],
    [{ id: 1, updated_at: '2026-11-19T10:00:00Z' }, at('19T10:00:00')],
    [{ id: 1, updated_at: '2026-11-19T12:00:00+02:00' }, at('19T10:00:00')],
    [{ id: 1, updated_at: '2026-11-19t10:00:00.999999z' }, at('19T10:00:00')],
    [{ id: 1, updated_at: new Date('2026-11-19T10:00:00.999Z') }, at('19T10:00:00')],
    [
      { updated_at: '2026-11-19T10:00:00Z', items: [{ updated_at: '2026-11-20T10:00:00Z' }] },
      at('19T10:00:00'),
    ],
    [{ id: 1 }, null],
    [{ updated_at: null }, null],
    [{ updated_at: 1_795_168_800 }, null],
    [{ updated_at: 'yesterday' }, null],
    [{ updated_at: '2026-11-19' }, null],
    [{ updated_at: '2026-02-30T10:00:00Z' }, null],
    [{ updated_at: 'Thu, 19 Nov 2026 10:00:00 GMT' }, null],
    [{ updated_at: new Date('never') }, null],
    [{ updated_at: { toString: () => '2026-11-19T10:00:00Z' } }, null],
    [null, null],
    ['2026-11-19T10:00:00Z', null],
    [undefined, null],
  ]
  for (const [payload, time] of rows) {
    t.equal(latestModified(payload, 'updated_at'), time, JSON.stringify(payload))
  }
  t.equal(latestModified({ changed: '2026-11-19T10:00:00Z' }, 'changed'), at('19T10:00:00'))
})

t.test('Last-Modified of a list is the latest of its items', async (t) => {
  const items = ['17T10:00:00.5Z', '19T10:00:00Z', '18T23:59:59+02:00', '19T09:59:59.999Z'].map(
    (time, id) => ({
      id,
      updated_at: `2026-11-${time}`,
    }),
  )
  const latest = at('19T10:00:00')
  t.equal(latestModified({ users: items }, 'updated_at'), latest)
  t.equal(latestModified({ total: 4, users: items }, 'updated_at'), latest)
  t.equal(latestModified(items, 'updated_at'), latest)
  t.equal(latestModified(Array(1000).fill(items[1]), 'updated_at'), latest)
  t.equal(latestModified({ users: [...items].reverse() }, 'updated_at'), latest)
  const mixed = [...items, { updated_at: new Date('2026-11-19T11:00:00Z') }]
  t.equal(latestModified({ users: mixed }, 'updated_at'), at('19T11:00:00'))
  t.equal(
    latestModified({ users: mixed.slice(0, 2).concat(mixed.slice(4, 5)) }, 'updated_at'),
    at('19T11:00:00'),
  )
})

t.test('a list with an item without a valid time has no Last-Modified', async (t) => {
  const item = { updated_at: '2026-11-19T10:00:00Z' }
  const rows: readonly (readonly [why: string, payload: unknown])[] = [
    ['empty', { users: [] }],
    ['one item without the member', { users: [item, { id: 2 }] }],
    ['one item with something else', { users: [item, { updated_at: null }] }],
    ['one item with an unknown time', { users: [item, { updated_at: '2026-11-18' }] }],
    ['one item that is none', { users: [item, 'x'] }],
    ['one item that is null', { users: [item, null] }],
    ['more than 1,000 items', { users: Array(1001).fill(item) }],
    ['two lists', { users: [item], orders: [item] }],
    ['no list', { users: { first: item } }],
    ['a hole', { users: Object.assign([item], { 2: item }) }],
  ]
  for (const [why, payload] of rows) t.equal(latestModified(payload, 'updated_at'), null, why)
})

t.test('RFC 9110 §8.8.2.1: a time in the future becomes the current time', async (t) => {
  const present = at('20T12:00:00')
  t.equal(latestModified({ updated_at: '2026-11-20T12:00:00.800Z' }, 'updated_at'), present)
  t.equal(latestModified({ updated_at: '2030-01-01T00:00:00Z' }, 'updated_at'), present)
  t.equal(latestModified({ updated_at: new Date('2030-01-01T00:00:00Z') }, 'updated_at'), present)
})

t.test('only own properties are read', async (t) => {
  const inherits = Object.create({ updated_at: '2026-11-19T10:00:00Z' })
  t.equal(latestModified(inherits, 'updated_at'), null)
  t.equal(latestModified({ users: [inherits] }, 'updated_at'), null)
  t.equal(latestModified({}, 'constructor'), null)
  t.equal(latestModified({}, '__proto__'), null)
  t.equal(
    latestModified(Object.create({ users: [{ updated_at: '2026-11-19T10:00:00Z' }] }), 'updated_at'),
    null,
  )
})

t.test('items beyond the limit are not read', async (t) => {
  let looked = 0
  const item = Object.defineProperty({}, 'updated_at', {
    get: () => {
      looked++
      return '2026-11-19T10:00:00Z'
    },
  })
  const users = Array.from({ length: 1001 }, () => item)
  t.equal(latestModified({ users }, 'updated_at'), null)
  t.equal(looked, 0)
})

t.test('times as text are compared as times; an invalid one leaves the list without a date', async (t) => {
  const other = '2026-11-19T10:00:00Z'
  const rows: readonly (readonly [text: string, time: number | null])[] = [
    // RFC 3339 §5.6: `t` and `z` in lowercase are allowed; as characters they come after all others.
    ['2026-11-19t09:00:00Z', at('19T10:00:00')],
    ['2026-11-19t11:00:00.000Z', at('19T11:00:00')],
    ['2026-11-19T11:00:00z', at('19T11:00:00')],
    ['2026-11-19T11:00:00+00:00', at('19T11:00:00')],
    ['2026-11-19 09:00:00Z', null],
    ['2026-11-19 11:00:00Z', null],
    ['2026-11-19_11:00:00.0Z', null],
    // Earlier than the other as characters, and yet no time.
    ['2026-02-30T10:00:00Z', null],
    ['0000-00-00T00:00:00Z', null],
    ['................... Z', null],
    ['xxxxxxxxxxxxxxxxxxxZ', null],
    ['                       Z', null],
  ]
  for (const [text, time] of rows) {
    for (const users of [
      [text, other],
      [other, text],
    ].map((all) => all.map((updated_at) => ({ updated_at }))))
      t.equal(latestModified({ users }, 'updated_at'), time, JSON.stringify(users))
    t.equal(latestTime([text, other], now), time, `lastModified: ${text}`)
  }
})

t.test('the latest time is found in all forms of dates', async (t) => {
  t.equal(latestTime([], now), null)
  const written = fc
    .tuple(fc.integer({ min: 0, max: Math.floor(now / 1000) }), fc.nat(999), fc.nat(6))
    .map(([second, fraction, form]) => {
      const text = new Date(second * 1000).toISOString().slice(0, 19)
      const digits = String(fraction).padStart(3, '0')
      const forms = [
        new Date(second * 1000 + fraction),
        `${text}Z`,
        `${text}.${digits}Z`,
        `${text}.${digits}000+00:00`,
        `${new Date((second + 3600) * 1000).toISOString().slice(0, 19)}+01:00`,
        `${text.replace('T', 't')}Z`,
        `${text}.${digits}z`,
      ]
      return [second * 1000, forms[form]] as const
    })
  fc.assert(
    fc.property(fc.array(written, { minLength: 1 }), (times) => {
      const latest = latestTime(
        times.map(([, form]) => form),
        now,
      )
      return latest === Math.max(...times.map(([time]) => time))
    }),
  )
})

t.test(
  'a getter that throws is not an error here: the response schema may leave the member out',
  async (t) => {
    const throwing = {
      get secret(): never {
        throw new Error('it is not read')
      },
    }
    t.equal(latestModified(throwing, 'updated_at'), null)
    t.equal(latestModified({ users: [throwing] }, 'secret'), null)
  },
)
