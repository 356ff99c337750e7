/** RFC 9110 §12.5.1 (Accept) and §8.3 (Content-Type). */
import fc from 'fast-check'
import t from 'tap'
import { acceptsAny, isJson, mediaTypeOf, prefers } from '../../src/http/media-types.js'

const json = ['application/json']
const both = ['application/json', 'text/csv']

t.test('RFC 9110 §12.5.1: the media types that an Accept header accepts', async (t) => {
  const rows: readonly (readonly [accept: string, produced: readonly string[], isAccepted: boolean])[] = [
    ['application/json', json, true],
    ['Application/JSON', json, true],
    ['text/html', json, false],
    ['text/html', both, false],
    ['text/csv', both, true],
    ['*/*', json, true],
    ['application/*', json, true],
    ['text/*', json, false],
    ['text/*', both, true],
    ['app/*', json, false],
    ['application/js*', json, false],
    ['text/html, application/json', json, true],
    ['text/html,application/json', json, true],
    ['  text/html ,\tapplication/json ', json, true],
    ['text/html, */*;q=0.1', json, true],
    ['application/json;q=0', json, false],
    ['application/json;q=0.0', json, false],
    ['application/json;q=0.000', json, false],
    ['application/json;q=0.001', json, true],
    ['application/json; q=1.000', json, true],
    ['application/json;Q=0', json, false],
    ['*/*;q=0', json, false],
    ['application/json;q=0, */*', json, false],
    ['application/json;q=0, */*', both, true],
    ['*/*, application/json;q=0', json, false],
    ['application/*;q=0, application/json', json, true],
    ['application/*, application/json;q=0', json, false],
    ['*/*;q=0, application/*', json, true],
    ['application/json;version=1', json, true],
    ['application/json;version=1;q=0', json, false],
    ['application/json;q=0;ext=1', json, false],
    ['application/json;p="q=0"', json, true],
    ['application/vnd.api+json', json, false],
    ['application/problem+json, application/json', json, true],
  ]
  for (const [accept, produced, isAccepted] of rows) {
    t.equal(acceptsAny(accept, produced), isAccepted, `${accept} for ${produced.join()}`)
  }
})

t.test('an Accept header that is not a list of media ranges accepts everything', async (t) => {
  for (const accept of [
    '',
    ' ',
    ',',
    ', ,',
    'json',
    '*',
    'a b/c',
    '/',
    'a/',
    '/b',
    'text/html/x',
    '\u00e9/x',
  ]) {
    t.equal(acceptsAny(accept, json), true, JSON.stringify(accept))
  }
  t.equal(acceptsAny('json, text/html', json), false, 'the ranges among other things still count')
})

const type = fc.constantFrom('a/x', 'a/y', 'b/x', 'b/y')
const range = fc.oneof(type, fc.constantFrom('a/*', 'b/*', '*/*'))
const weight = fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', ';v=1', ';v=1;q=0')
const accept = fc.array(fc.tuple(range, weight), { minLength: 1, maxLength: 6 })

t.test('the result is that of a plain implementation of the rules', async () => {
  fc.assert(
    fc.property(accept, fc.uniqueArray(type, { minLength: 1 }), (ranges, produced) => {
      const header = ranges.map(([name, quality]) => name + quality).join(', ')
      return acceptsAny(header, produced) === produced.some((name) => isTaken(ranges, name))
    }),
    { numRuns: 500 },
  )
})

t.test('the order of the ranges does not matter, nor does repeating them', async () => {
  fc.assert(
    fc.property(accept, fc.uniqueArray(type, { minLength: 1 }), (ranges, produced) => {
      const header = ranges.map(([name, quality]) => name + quality)
      const verdict = acceptsAny(header.join(), produced)
      return (
        acceptsAny([...header].reverse().join(' , '), produced) === verdict &&
        acceptsAny([...header, ...header].join(), produced) === verdict
      )
    }),
  )
})

t.test('what follows an accepted type does not matter, whatever its text and length', async (t) => {
  const accepts = (text: string) => acceptsAny(`application/json,${text}`, json)
  fc.assert(fc.property(fc.string(), accepts))
  for (const unit of [' ', ',', ';', 'a/b,', ';q=0', '"', 'a/', '*/*;q=0 ', '\\"', '"\\\n', '"\\']) {
    for (const start of ['a/b', '"']) {
      const before = process.cpuUsage()
      t.equal(accepts(`${start}${unit.repeat(50_000)}x`), true, JSON.stringify(unit))
      // Linear is a few milliseconds; quadratic is seconds.
      t.ok(process.cpuUsage(before).user < 1_000_000, `in no time: ${start} ${JSON.stringify(unit)}`)
    }
  }
})
t.test('the media type of a Content-Type (RFC 9110 §8.3)', async (t) => {
  const rows: readonly (readonly [contentType: string | undefined, mediaType: string])[] = [
    [undefined, ''],
    ['', ''],
    ['application/json', 'application/json'],
    ['Application/JSON; charset=utf-8', 'application/json'],
    [' text/csv ;header=present', 'text/csv'],
    [';charset=utf-8', ''],
  ]
  for (const [contentType, mediaType] of rows)
    t.equal(mediaTypeOf(contentType), mediaType, String(contentType))
  fc.assert(fc.property(fc.string(), (text) => mediaTypeOf(mediaTypeOf(text)) === mediaTypeOf(text)))
})

t.test('JSON is application/json and the +json suffix (RFC 6839 §3.1)', async (t) => {
  for (const name of ['application/json', 'application/problem+json', 'application/merge-patch+json']) {
    t.ok(isJson(name), name)
  }
  for (const name of [
    '',
    'json',
    'text/plain',
    'application/jsonp',
    'application/json-seq',
    'application/xml',
  ]) {
    t.notOk(isJson(name), name)
  }
})

/** RFC 9110 §12.5.1, one type at a time: the ranges of the greatest precedence that match decide. */
function isTaken(ranges: readonly (readonly [range: string, weight: string])[], name: string): boolean {
  for (const candidate of [name, `${name.split('/')[0]}/*`, '*/*']) {
    const deciding = ranges.filter(([text]) => text === candidate)
    if (deciding.length > 0) return deciding.some(([, quality]) => !quality.endsWith(';q=0'))
  }
  return false
}

t.test('commas and semicolons in quoted strings separate nothing (RFC 9110 §5.6.4)', async (t) => {
  t.notOk(acceptsAny('text/html;p=",application/json,"', ['application/json']))
  t.ok(acceptsAny('application/json;p=";q=0;"', ['application/json']))
  t.notOk(
    acceptsAny('text/html;p="\\",application/json,\\""', ['application/json']),
    'quotes that are quoted',
  )
  t.notOk(acceptsAny('text/html;p=",application/json', ['application/json']), 'one that does not end')
})

t.test('RFC 9110 §12.4.2: a client prefers the type with the higher quality value', async (t) => {
  const rows: readonly (readonly [accept: string, isPreferred: boolean])[] = [
    ['text/event-stream', true],
    ['text/event-stream, */*;q=0.1', true],
    ['text/event-stream;q=0.9, application/json;q=0.8', true],
    ['application/json;q=0, */*', true],
    ['text/*', true],
    ['text/event-stream, application/json', false],
    ['text/event-stream;q=0.5, application/json', false],
    ['text/event-stream;q=0', false],
    ['application/json', false],
    ['*/*', false],
    ['text/html', false],
    ['', false],
    ['nonsense', false],
  ]
  for (const [accept, isPreferred] of rows) {
    t.equal(prefers(accept, 'text/event-stream', 'application/json'), isPreferred, accept)
  }
})

t.test('of a header that a client made long, the ranges in the first 1000 characters count', async (t) => {
  const many = 'text/x,'.repeat(2000)
  t.ok(acceptsAny(`application/json,${many}`, json))
  t.notOk(acceptsAny(`${many}application/json`, json), 'beyond them')
  const cut = `${'text/x,'.repeat(142)}text/csvx`
  t.equal(cut.slice(0, 1000).split(',').at(-1), 'text/c')
  t.notOk(acceptsAny(cut, ['text/c']), 'a range that is cut')
})
