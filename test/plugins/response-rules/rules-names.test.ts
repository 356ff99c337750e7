import t from 'tap'
import {
  defaultUnixTimes,
  hasLocalOffset,
  isClockOrDuration,
  isDateTime,
  isDay,
  isTwin,
  nounOf,
  pluralName,
  timeFormats,
} from '../../../src/plugins/response-rules/words.js'
import { isPlural } from '../../../src/words/words.js'

t.test('a member is a twin only beside its number', async (t) => {
  t.ok(isTwin('userId_str', new Set(['userId'])))
  t.notOk(isTwin('userId_str', new Set(['id'])))
  t.notOk(isTwin('userId', new Set(['userId'])))
})

t.test('a list under a singular name has a suggestion', async (t) => {
  const right =
    'users friend_ids friendIds friend_ids_str children data metadata series information history skus'
  const others = 'items_by_sku orders_in_transit fields_changed users22 _'
  for (const name of ['', ...right.split(' '), ...others.split(' ')])
    t.equal(pluralName(name, new Set()), null, name)
  const cases: [string, string][] = [
    ['user', 'users'],
    ['friendId', 'friendIds'],
    ['an_event', 'an_events'],
    ['friend_id_str', 'friend_ids'],
    ['user_list', 'user_lists'],
    ['feed', 'feeds'],
    ['item_by_sku', 'items_by_sku'],
    ['line_item_changed', 'line_items_changed'],
    ['by_user', 'by_users'],
    ['bed', 'beds'],
    ['b2b', 'b2bs'],
  ]
  for (const [name, plural] of cases) t.equal(pluralName(name, new Set()), plural, name)
})

t.test('the names of collections in paths are valid names of lists', async (t) => {
  for (const word of 'uris taxis sagas content money auth schemas indices viruses feedback'.split(' ')) {
    t.ok(isPlural(word), `${word} in a path`)
    t.equal(pluralName(word, new Set()), null, `${word} in an answer`)
  }
})

t.test('words of the domain are accepted as they are', async (t) => {
  t.equal(pluralName('embedding', new Set(['embedding'])), null, 'a name')
  t.equal(pluralName('text_embedding', new Set(['embedding'])), null, 'a last word')
  t.equal(pluralName('textEmbedding', new Set(['textEmbedding'])), null, 'a name of two words')
  t.equal(pluralName('embedding_id', new Set(['embedding'])), 'embedding_ids', 'no word in between')
})

t.test('the noun of a name stands before a preposition', async (t) => {
  t.equal(nounOf('sex_assigned_at_birth'), 'sex')
  t.equal(nounOf('patientSex'), 'sex')
  t.equal(nounOf('sex'), 'sex')
  t.equal(nounOf('sexton'), 'sexton')
  t.equal(nounOf(''), '')
})

t.test('names of times', async (t) => {
  const unixTimes = [...defaultUnixTimes, 'expires']
  const formats = {
    instant: ['date-time'],
    day: ['date', 'date-time'],
    clock: ['date-time', 'time', 'duration'],
  }
  const cases: [string, keyof typeof formats][] = [
    ['created_at', 'instant'],
    ['createdAt', 'instant'],
    ['event_timestamp', 'instant'],
    ['datetime', 'instant'],
    ['birthDate', 'day'],
    ['startTime', 'clock'],
  ]
  const none =
    'birthday lastSeen created_at_unix createdAtUnix created_ts expires response_time waitTime start_time_zone at _at'
  for (const name of ['', ...none.split(' '), 'seat', 'candidate', 'update', 'time', 'name'])
    t.equal(timeFormats(name, unixTimes), null, name)
  t.equal(timeFormats('last_seen_at', ['_seen_at']), null, 'an ending of Unix times')
  t.strictSame(timeFormats('seen_at', ['_seen_at']), formats.instant, 'which is not all of the name')
  for (const [name, time] of cases) t.strictSame(timeFormats(name, unixTimes), formats[time], name)
})

t.test('RFC 3339, and texts that look like it', async (t) => {
  const dateTimes: [string, boolean][] = [
    ['2026-01-31T12:00:00Z', true],
    ['2026-01-31T12:00:00.123456789012Z', true],
    ['2026-01-31T12:00:00-05:30', true],
    ['2016-12-31T23:59:60Z', true],
    ['2026-01-31T12:00:00', false],
    ['2026-01-31T12:00Z', false],
    ['2026-02-30T12:00:00Z', false],
    ['2026-01-31', false],
    ['Sat, 31 Jan 2026 12:00:00 GMT', false],
    ['', false],
  ]
  for (const [text, expected] of dateTimes) t.equal(isDateTime(text), expected, text)
  for (const text of ['2026-01-31', '2024-02-29']) t.ok(isDay(text), text)
  for (const text of ['2026-02-29', '2026-1-31', '31.01.2026', '']) t.notOk(isDay(text), text)
  const clocks = ['14:00', '14:00:30', '14:00:30.25Z', '14:00:00+02:00']
  const durations = ['PT90M', 'P1DT2H', 'P12W', 'P12Y', 'P12M', 'P30D', 'P12Y10M30DT10H20M15.25S', 'PT15S']
  for (const text of [...clocks, ...durations]) t.ok(isClockOrDuration(text), text)
  for (const text of ['24:00', '2 pm', 'at 14:00', '14:00 h', 'P', 'PT', 'aP1D', 'PxD', 'PT1.xS', 'soon', ''])
    t.notOk(isClockOrDuration(text), text)
  for (const text of ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00+00:00'])
    t.notOk(hasLocalOffset(text), text)
  t.ok(hasLocalOffset('2026-01-31T12:00:00+02:00'))
})
