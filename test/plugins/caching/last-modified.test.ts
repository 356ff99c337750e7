/** `Last-Modified` from the dates in a payload. */
import t from 'tap'
import { latestTime, payloadDate } from '../../../src/plugins/caching/preconditions.js'

const now = Date.parse('2026-11-20T12:00:00.700Z')
const latestModified = (payload: unknown, member: string): number | null =>
  payloadDate(payload, member, now)?.lastModified ?? null
const at = (time: string): number => Date.parse(`2026-11-${time}Z`)

t.test('Last-Modified of an item is its own time', async (t) => {
  const rows: readonly (readonly [updated_at: unknown, time: number | null])[] = [
    [new Date('2026-11-19T10:00:00.999Z'), at('19T10:00:00')],
    ['2026-11-19T10:00:00Z', at('19T10:00:00')],
    ['2026-11-19T12:00:00+02:00', at('19T10:00:00')],
    ['2026-11-19t10:00:00.999999z', at('19T10:00:00')],
    // RFC 9110 §8.8.2.1: a time in the future becomes the current time.
    ['2026-11-20T12:00:00.800Z', at('20T12:00:00')],
    [new Date('2030-01-01T00:00:00Z'), at('20T12:00:00')],
    [undefined, null],
    [null, null],
    [1_795_168_800, null],
    ['2026-11-19', null],
    ['2026-02-30T10:00:00Z', null],
    ['Thu, 19 Nov 2026 10:00:00 GMT', null],
    [new Date('never'), null],
    [{ toString: () => '2026-11-19T10:00:00Z' }, null],
  ]
  for (const [updated_at, time] of rows)
    t.equal(latestModified({ id: 1, updated_at }, 'updated_at'), time, JSON.stringify(updated_at))
  const items = [{ updated_at: '2026-11-20T10:00:00Z' }]
  t.equal(latestModified({ updated_at: '2026-11-19T10:00:00Z', items }, 'updated_at'), at('19T10:00:00'))
  t.equal(latestModified({ changed: '2026-11-19T10:00:00Z' }, 'changed'), at('19T10:00:00'))
  for (const payload of [{ id: 1 }, null, '2026-11-19T10:00:00Z', undefined])
    t.equal(latestModified(payload, 'updated_at'), null, JSON.stringify(payload))
})

t.test('Last-Modified of a list is the latest of its items', async (t) => {
  const times = ['17T10:00:00.5Z', '19T10:00:00Z', '18T23:59:59+02:00', '19T09:59:59.999Z']
  const items = times.map((time, id) => ({ id, updated_at: `2026-11-${time}` }))
  const payloads = [
    items,
    { total: 4, users: items },
    { users: [...items].reverse() },
    Array(1000).fill(items[1]),
  ]
  for (const payload of payloads) t.equal(latestModified(payload, 'updated_at'), at('19T10:00:00'))
  const mixed = [...items, { updated_at: new Date('2026-11-19T11:00:00Z') }]
  t.equal(latestModified({ users: mixed }, 'updated_at'), at('19T11:00:00'))
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

t.test('only own properties are read', async (t) => {
  const date = '2026-11-19T10:00:00Z'
  const inherits = Object.create({ updated_at: date })
  for (const payload of [inherits, { users: [inherits] }, Object.create({ users: [{ updated_at: date }] })])
    t.equal(latestModified(payload, 'updated_at'), null)
  for (const member of ['constructor', '__proto__']) t.equal(latestModified({}, member), null)
})

t.test('times as text are compared as times; an invalid one leaves the list without a date', async (t) => {
  const other = '2026-11-19T10:00:00Z'
  const rows: readonly (readonly [text: string, time: number | null])[] = [
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
  ]
  for (const [text, time] of rows) {
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
  t.equal(latestModified(throwing, 'updated_at'), null)
  t.equal(latestModified({ users: Array(1001).fill(throwing) }, 'secret'), null)
  t.equal(read, 0, 'items beyond the limit are not read')
  t.equal(latestModified({ users: [throwing] }, 'secret'), null)
})
