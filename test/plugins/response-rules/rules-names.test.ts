import t from 'tap'
import { schemaBreaches } from '../../../src/plugins/response-rules/breaches.js'
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
import type { Json } from '../../../src/schema/json-schema.js'
import { isPlural } from '../../../src/words/words.js'
import { vocabulary } from './rules-vocabulary.js'

type Member = [name: string, schema: Json]

t.test('a member is a twin only beside its number', async (t) => {
  t.ok(isTwin('userId_str', new Set(['userId'])))
  t.notOk(isTwin('userId_str', new Set(['id'])))
  t.notOk(isTwin('userId', new Set(['userId'])))
})

t.test('a list under a singular name has a suggestion', async (t) => {
  const right =
    'users friend_ids friendIds friend_ids_str children data metadata series information history skus'
  const others = 'items_by_sku orders_in_transit fields_changed users2 _'
  for (const name of ['', ...right.split(' '), ...others.split(' ')])
    t.equal(pluralName(name, new Set()), null, name)
  const cases: [string, string][] = [
    ['user', 'users'],
    ['friend_id', 'friend_ids'],
    ['friendId', 'friendIds'],
    ['friend_id_str', 'friend_ids'],
    ['user_list', 'user_lists'],
    ['order_status', 'order_statuses'],
    ['address', 'addresses'],
    ['child', 'children'],
    ['feed', 'feeds'],
    ['item_by_sku', 'items_by_sku'],
    ['line_item_changed', 'line_items_changed'],
    ['by_user', 'by_users'],
    ['bed', 'beds'],
  ]
  for (const [name, plural] of cases) t.equal(pluralName(name, new Set()), plural, name)
})

t.test('the names of collections in paths are valid names of lists', async (t) => {
  const words = 'uris taxis sagas content money auth shipping schemas indices viruses lenses feedback'
  for (const word of words.split(' ')) {
    t.ok(isPlural(word), `${word} in a path`)
    t.equal(pluralName(word, new Set()), null, `${word} in an answer`)
  }
  const plurals = {
    virus: 'viruses',
    lens: 'lenses',
    schema: 'schemas',
    saga: 'sagas',
    an_event: 'an_events',
  }
  for (const [one, many] of Object.entries(plurals)) t.equal(pluralName(one, new Set()), many, one)
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
    ['timestamp', 'instant'],
    ['event_timestamp', 'instant'],
    ['datetime', 'instant'],
    ['date', 'day'],
    ['birth_date', 'day'],
    ['birthDate', 'day'],
    ['start_time', 'clock'],
    ['startTime', 'clock'],
  ]
  const none =
    'birthday lastSeen created_at_unix createdAtUnix created_ts expires response_time waitTime at _at'
  for (const name of ['', ...none.split(' '), 'seat', 'candidate', 'update', 'time', 'name'])
    t.equal(timeFormats(name, unixTimes), null, name)
  for (const [name, time] of cases) t.strictSame(timeFormats(name, unixTimes), formats[time], name)
})

t.test('RFC 3339, and texts that look like it', async (t) => {
  const dateTimes: [string, boolean][] = [
    ['2026-01-31T12:00:00Z', true],
    ['2026-01-31t12:00:00z', true],
    ['2026-01-31T12:00:00.123456789012Z', true],
    ['2026-01-31T12:00:00+00:00', true],
    ['2026-01-31T12:00:00-05:30', true],
    ['2016-12-31T23:59:60Z', true],
    ['2026-01-31T12:00:00', false],
    ['2026-01-31 12:00:00Z', false],
    ['2026-01-31T12:00Z', false],
    ['2026-02-30T12:00:00Z', false],
    ['2026-01-31', false],
    ['Sat, 31 Jan 2026 12:00:00 GMT', false],
    ['1769860800', false],
    ['', false],
  ]
  for (const [text, expected] of dateTimes) t.equal(isDateTime(text), expected, text)
  for (const text of ['2026-01-31', '2024-02-29']) t.ok(isDay(text), text)
  for (const text of ['2026-02-29', '2026-1-31', '31.01.2026', '']) t.notOk(isDay(text), text)
  for (const text of ['14:00', '14:00:30', '14:00:30.5Z', '14:00:00+02:00', 'PT90M', 'P1DT2H', 'P2W']) {
    t.ok(isClockOrDuration(text), text)
  }
  for (const text of ['24:00', '2 pm', 'P', 'PT', 'soon', '']) t.notOk(isClockOrDuration(text), text)
  for (const text of ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00+00:00'])
    t.notOk(hasLocalOffset(text), text)
  t.ok(hasLocalOffset('2026-01-31T12:00:00+02:00'))
})

t.test('an envelope has only a wrapped value and metadata', async (t) => {
  const roomy = (name: string): Member => [name, { type: 'object' }]
  const plain = (name: string): Member => [name, { type: 'string' }]
  const cases: [string, Member[], string | undefined][] = [
    ['data alone', [roomy('data')], 'data'],
    ['data and status', [plain('status'), roomy('data')], 'data'],
    ['headers and response', [roomy('headers'), roomy('response')], 'response'],
    ['success and payload', [plain('success'), roomy('payload'), plain('message')], 'payload'],
    ['result, code, error', [roomy('result'), plain('code'), roomy('error')], 'result'],
    ['data and paging', [roomy('data'), plain('total'), plain('hasMore')], 'data'],
    ['data and _links', [roomy('data'), roomy('_links')], 'data'],
    ['a list', [roomy('users')], undefined],
    ['a list and its total', [roomy('users'), plain('total')], undefined],
    ['no members', [], undefined],
    ['metadata alone', [plain('status'), plain('message')], undefined],
    ['a resource with data', [plain('id'), roomy('data')], undefined],
    ['a result that is a word', [plain('result'), plain('code')], undefined],
    ['a state', [['status', { type: 'string', enum: ['paid', 'open'] }], roomy('result')], undefined],
  ]
  for (const [about, members, expected] of cases) {
    const schema = { type: 'object', properties: Object.fromEntries(members) }
    const found = schemaBreaches(schema, {}, vocabulary).breaches.find(({ rule }) => rule === 'envelope')
    t.equal(found?.problem, expected && `/${expected} wraps the resource`, about)
  }
})
