import fc from 'fast-check'
import t from 'tap'
import {
  defaultUnixTimes,
  hasLocalOffset,
  isClockOrDuration,
  isDateTime,
  isDay,
  pluralName,
  timeFormats,
} from '../../../src/plugins/response-rules/words.js'
import { joinWords } from '../../../src/words/words.js'

t.test('a list under a singular name has a suggestion', async (t) => {
  const right =
    'users friend_ids friendIds friend_ids_str children data metadata series information history skus'
  const others = 'items_by_sku orders_in_transit fields_changed users22 _'
  const inPaths = 'uris taxis sagas content money auth schemas indices viruses feedback'
  for (const name of ['', ...[right, others, inPaths].join(' ').split(' ')])
    t.equal(pluralName(name, new Set()), null, name)
  const cases =
    'user users, friendId friendIds, an_event an_events, friend_id_str friend_ids, user_list user_lists, feed feeds, ' +
    'item_by_sku items_by_sku, line_item_changed line_items_changed, by_user by_users, bed beds, b2b b2bs'
  for (const [name = '', plural] of cases.split(', ').map((pair) => pair.split(' ')))
    t.equal(pluralName(name, new Set()), plural, name)
})

t.test('the name that a list should have keeps the rule', async () => {
  const words = fc.array(fc.constantFrom('red', 'big', 'house', 'order', 'owner'), {
    minLength: 1,
    maxLength: 3,
  })
  fc.assert(
    fc.property(words, fc.constantFrom('snake_case', 'camelCase'), (all, keyStyle) => {
      const plural = pluralName(joinWords(all, keyStyle), new Set())
      return plural === null || pluralName(plural, new Set()) === null
    }),
  )
})

t.test('names of times', async (t) => {
  const unixTimes = [...defaultUnixTimes, 'expires']
  const none =
    'birthday lastSeen created_at_unix createdAtUnix created_ts expires response_time waitTime start_time_zone at _at ' +
    'seat candidate update time name'
  for (const name of ['', ...none.split(' ')]) t.equal(timeFormats(name, unixTimes), null, name)
  t.equal(timeFormats('last_seen_at', ['_seen_at']), null, 'an ending of Unix times')
  t.strictSame(timeFormats('seen_at', ['_seen_at']), ['date-time'], 'which is not all of the name')
  for (const name of ['created_at', 'createdAt', 'event_timestamp', 'datetime'])
    t.strictSame(timeFormats(name, unixTimes), ['date-time'], name)
  t.strictSame(timeFormats('birthDate', unixTimes), ['date', 'date-time'])
  t.strictSame(timeFormats('startTime', unixTimes), ['date-time', 'time', 'duration'])
})

t.test('RFC 3339, and texts that look like it', async (t) => {
  const time = '2026-01-31T12:00:00'
  for (const text of [`${time}Z`, `${time}.123456789012Z`, `${time}-05:30`, '2016-12-31T23:59:60Z'])
    t.ok(isDateTime(text), text)
  const others = [
    time,
    '2026-01-31T12:00Z',
    '2026-02-30T12:00:00Z',
    '2026-01-31',
    'Sat, 31 Jan 2026 12:00:00 GMT',
    '',
  ]
  for (const text of others) t.notOk(isDateTime(text), text)
  for (const text of ['2026-01-31', '2024-02-29']) t.ok(isDay(text), text)
  for (const text of ['2026-02-29', '2026-1-31', '31.01.2026', '']) t.notOk(isDay(text), text)
  const clocks = ['14:00', '14:00:30', '14:00:30.25Z', '14:00:00+02:00']
  const durations = ['PT90M', 'P1DT2H', 'P12W', 'P12Y', 'P12M', 'P30D', 'P12Y10M30DT10H20M15.25S', 'PT15S']
  for (const text of [...clocks, ...durations]) t.ok(isClockOrDuration(text), text)
  for (const text of ['24:00', '2 pm', 'at 14:00', '14:00 h', 'P', 'PT', 'aP1D', 'PxD', 'PT1.xS', 'soon', ''])
    t.notOk(isClockOrDuration(text), text)
  for (const text of [`${time}Z`, `${time}+00:00`]) t.notOk(hasLocalOffset(text), text)
  t.ok(hasLocalOffset(`${time}+02:00`))
})
