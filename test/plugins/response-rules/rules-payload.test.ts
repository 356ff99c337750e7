import fc from 'fast-check'
import t from 'tap'
import { payloadBounds, payloadBreaches } from '../../../src/plugins/response-rules/payload.js'
import * as words from '../../../src/plugins/response-rules/words.js'
import { joinWords } from '../../../src/words/words.js'
import { forAll } from '../../support/property.js'

/** The default vocabulary. */
const vocabulary: words.ResponseVocabulary = {
  keyStyle: 'snake_case',
  words: new Set(),
  unixTimes: words.defaultUnixTimes,
}

const problemsOf = (payload: unknown, others: Partial<words.ResponseVocabulary> = {}): string[] =>
  payloadBreaches(payload, { ...vocabulary, ...others }).map(({ rule, problem }) => `${rule}: ${problem}`)

t.test('payloads that keep the rules', async (t) => {
  const payloads: Record<string, unknown> = {
    'a resource': { id: 1, name: 'Ada', created_at: '2026-01-31T12:00:00Z', tags: ['a'] },
    'a list': { users: [{ id: 1n, id_str: '1' }], total: 1 },
    'a Date': { created_at: new Date(0) },
    'a time that is not there': { created_at: null, deleted_at: undefined },
    'a Unix time': { created_at_unix: 1_700_000_000 },
    'a day': { birth_date: '1990-01-31', date: '2026-01-31' },
    'a time of day and a duration': { start_time: '14:00', end_time: 'PT2H', lap_time: 999_999_999 },
    'a point': { position: [13.4, 52.5], box: [0, 0, 1, 1] },
    'codes as keys': { rates: { USD: 1, EUR: 2 }, texts: { 'en-US': 'x', 'de-DE': 'y' } },
    'dates and ids as keys': { days: { '2026-01-31': 1 }, people: { 'Ada.L@example.com': 1 } },
    'keys of links and schemas': { _Links: {}, $Ref: 'x' },
    'what JSON leaves out': { createdBy: undefined, doIt: () => 1, aSymbol: Symbol('x') },
    'a state beside a result': { status: 'Succeeded', result: { id: 1 } },
    'a sex, of which only the schema is judged': { sex: 'm' },
    bytes: { file: new Uint8Array(3) },
    null: null,
    'a map': new Map([['createdAt', 1]]),
  }
  for (const [about, payload] of Object.entries(payloads)) t.same(problemsOf(payload), [], about)
})

t.test('payloads that break a rule', async (t) => {
  const notDateTime = 'dates: /created_at is not an RFC 3339 date-time'
  const cases: [string, unknown, string[]][] = [
    ['an array', [{ id: 1 }], ['object: the body is an array, not an object']],
    ['a number', 5, ['object: the body is a number, not an object']],
    ['a truth value alone', true, ['object: the body is a boolean, not an object']],
    ['data and a list in it', { success: true, data: [] }, ['envelope: /data wraps the list']],
    ['an outcome', { status: 'success', data: {} }, ['envelope: /data wraps the resource']],
    ['further down', { as: [{ b: { cD: 1 } }] }, ['keys: /as/*/b/cD is not in snake_case']],
    ['a list in the singular', { user: [] }, ['plural: /user is a list under a singular name']],
    ['words for a time', { created_at: 'yesterday' }, [notDateTime]],
    ['a day for an instant', { created_at: '2026-01-31' }, [notDateTime]],
    ['a number for a time', { created_at: 1_700_000_000 }, ['dates: /created_at is a time as a number']],
    ['one number is a list', { position: [1] }, ['plural: /position is a list under a singular name']],
    ['numbers and words are a list', { tag: [1, 'a'] }, ['plural: /tag is a list under a singular name']],
    ['a truth value', { aB: true }, ['keys: /aB is not in snake_case']],
    ['five numbers are a list', { box: [1, 2, 3, 4, 5] }, ['plural: /box is a list under a singular name']],
    ['a BigInt for a time of day', { start_time: 10n ** 9n }, ['dates: /start_time is a time as a number']],
  ]
  for (const [about, payload, problems] of cases) t.same(problemsOf(payload), problems, about)
})

t.test('keyStyle and words of the domain apply; of each rule, the first breach is reported', async (t) => {
  t.same(problemsOf({ createdBy: 1, id: 1, id_str: '1' }, { keyStyle: 'camelCase' }), [])
  t.same(problemsOf({ created_by: 1 }, { keyStyle: 'camelCase' }), ['keys: /created_by is not in camelCase'])
  t.same(problemsOf({ embedding: [0.1], half_time: 'x' }, { words: new Set(['embedding', 'half_time']) }), [])
  const first = ['keys: /aB is not in snake_case', 'plural: /user is a list under a singular name']
  t.same(problemsOf({ aB: 1, cD: 2, user: [], tag: [] }), first)
})

t.test('values, and keys that may be data, are not reported', async (t) => {
  const payload = { people: { 'ada@example.com': { createdAt: 'secret' } } }
  const told = JSON.stringify(payloadBreaches(payload, vocabulary))
  t.match(told, '/people/*/createdAt')
  t.notMatch(told, /ada@|secret/)
})

t.test('a payload is checked up to the limits', async (t) => {
  const { depth, itemsOfArray, keys, keyLength } = payloadBounds
  const items = (at: number) => Array.from({ length: at + 1 }, (_, index) => (index === at ? { aB: 1 } : {}))
  t.equal(problemsOf({ rows: items(itemsOfArray - 1) }).length, 1, 'the last item that is looked at')
  t.same(problemsOf({ rows: items(itemsOfArray) }), [], 'the one after it')

  const nested = (levels: number): unknown => (levels === 0 ? { aB: 1 } : { a: nested(levels - 1) })
  t.equal(problemsOf(nested(depth - 1)).length, 1, 'the deepest level that is looked at')
  t.same(problemsOf(nested(depth)), [], 'the one below it')

  const inLists = (levels: number) =>
    Array.from({ length: levels }).reduce<unknown>((rows) => [rows], { aB: 1 })
  t.equal(problemsOf({ rows: inLists(depth - 2) }).length, 1, 'lists are levels')
  t.same(problemsOf({ rows: inLists(depth - 1) }), [], 'the list below the deepest level')

  const plain = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]))
  const wide = (at: number) => ({ ...plain(at), aB: 1 })
  t.equal(problemsOf(wide(keys - 1)).length, 1, 'the last key that is looked at')
  t.same(problemsOf(wide(keys)), [], 'the one after it')
  t.same(problemsOf({ a: plain(keys - 1), rows: { aB: 1 } }), [], 'keys count across objects')

  t.equal(problemsOf({ [`aB${'c'.repeat(keyLength - 2)}`]: 1 }).length, 1, 'the longest key')
  t.same(problemsOf({ [`aB${'c'.repeat(keyLength - 1)}`]: 1 }), [], 'one longer')

  const circle: Record<string, unknown> = {}
  circle.self = circle
  t.same(problemsOf(circle), [], 'a circle')
})

t.test('no code of a payload runs', async (t) => {
  let calls = 0
  const getter = Object.defineProperty({}, 'createdAt', { enumerable: true, get: () => ++calls })
  for (const payload of [getter, { nested: { toJSON: () => ({ aB: ++calls }) } }, { toJSON: () => ++calls }])
    t.same(problemsOf(payload), [])
  t.equal(calls, 0)
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  t.same(problemsOf({ proxy, aB: 1 }), [], 'a payload whose members cannot be read is not a breach')
})

t.test('no payload makes the check throw or changes by it', async () => {
  const anything = fc.anything({ withDate: true, withMap: true, withBigInt: true, withTypedArray: true })
  forAll(anything, (payload) => {
    const before = fc.stringify(payload)
    payloadBreaches(payload, vocabulary)
    return fc.stringify(payload) === before
  })
})

t.test('a list under a singular name has a suggestion', async (t) => {
  const right =
    'users friend_ids friendIds friend_ids_str children data metadata series information history skus'
  const others = 'items_by_sku orders_in_transit fields_changed users22 _'
  const inPaths = 'uris taxis sagas content money auth schemas indices viruses feedback'
  for (const name of ['', ...[right, others, inPaths].join(' ').split(' ')])
    t.equal(words.pluralName(name, new Set()), null, name)
  const cases =
    'user users, friendId friendIds, an_event an_events, friend_id_str friend_ids, user_list user_lists, feed feeds, ' +
    'item_by_sku items_by_sku, line_item_changed line_items_changed, by_user by_users, bed beds, b2b b2bs'
  for (const [name = '', plural] of cases.split(', ').map((pair) => pair.split(' ')))
    t.equal(words.pluralName(name, new Set()), plural, name)
  for (const word of ['friend_id_str', 'friend_id', 'friend_ids'])
    t.equal(words.pluralName('friend_id_str', new Set([word])), word === 'friend_ids' ? 'friend_ids' : null)
})

t.test('the name that a list should have keeps the rule', async () => {
  const word = fc.constantFrom('red', 'big', 'house', 'order', 'owner')
  const names = fc.array(word, { minLength: 1, maxLength: 3 })
  forAll(names, fc.constantFrom('snake_case', 'camelCase'), (all, keyStyle) => {
    const plural = words.pluralName(joinWords(all, keyStyle), new Set())
    return plural === null || words.pluralName(plural, new Set()) === null
  })
})

t.test('names of times', async (t) => {
  const unixTimes = [...words.defaultUnixTimes, 'expires']
  const none =
    'birthday lastSeen created_at_unix createdAtUnix created_ts expires response_time waitTime start_time_zone at _at ' +
    'seat candidate update time name'
  for (const name of ['', ...none.split(' ')]) t.equal(words.timeFormats(name, unixTimes), null, name)
  t.equal(words.timeFormats('last_seen_at', ['_seen_at']), null, 'an ending of Unix times')
  t.strictSame(words.timeFormats('seen_at', ['_seen_at']), ['date-time'], 'which is not all of the name')
  for (const name of ['created_at', 'createdAt', 'event_timestamp', 'datetime'])
    t.strictSame(words.timeFormats(name, unixTimes), ['date-time'], name)
  t.strictSame(words.timeFormats('birthDate', unixTimes), ['date', 'date-time'])
  t.strictSame(words.timeFormats('startTime', unixTimes), ['date-time', 'time', 'duration'])
})

t.test('RFC 3339, and texts that look like it', async (t) => {
  const time = '2026-01-31T12:00:00'
  for (const text of [`${time}Z`, `${time}.123456789012Z`, `${time}-05:30`, '2016-12-31T23:59:60Z'])
    t.ok(words.isDateTime(text), text)
  for (const text of [time, '2026-01-31T12:00Z', '2026-02-30T12:00:00Z', '2026-01-31', ''])
    t.notOk(words.isDateTime(text), text)
  for (const text of ['2026-01-31', '2024-02-29']) t.ok(words.isDay(text), text)
  for (const text of ['2026-02-29', '2026-1-31', '31.01.2026', '']) t.notOk(words.isDay(text), text)
  const clocks = ['14:00', '14:00:30', '14:00:30.25Z', '14:00:00+02:00']
  const durations = ['PT90M', 'P1DT2H', 'P12W', 'P12Y', 'P12M', 'P30D', 'P12Y10M30DT10H20M15.25S', 'PT15S']
  for (const text of [...clocks, ...durations]) t.ok(words.isClockOrDuration(text), text)
  for (const text of ['24:00', '2 pm', 'at 14:00', '14:00 h', 'P', 'PT', 'aP1D', 'PxD', 'PT1.xS', 'soon', ''])
    t.notOk(words.isClockOrDuration(text), text)
  for (const text of [`${time}Z`, `${time}+00:00`]) t.notOk(words.hasLocalOffset(text), text)
  t.ok(words.hasLocalOffset(`${time}+02:00`))
})
