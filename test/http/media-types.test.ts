/** RFC 9110 §12.5.1 (Accept) and §8.3 (Content-Type). */
import fc from 'fast-check'
import t from 'tap'
import * as media from '../../src/http/media-types.js'
import { forAll, inRuns } from '../support/property.js'

const json = ['application/json']

t.test('RFC 9110 §12.5.1: the media types that an Accept header accepts', async (t) => {
  // RFC 9110 §5.6.4: commas and semicolons in quoted strings separate nothing.
  const [taken, left] = ['application/json;p=";q=0;"', 'text/html;p="\\",application/json,\\""']
  const accepted = [
    '  text/html ,\tapplication/json ',
    'application/json;xq=0',
    'application/json;q=0x',
    taken,
  ]
  const refused = ['app/*', 'application/json;q=0.000', 'application/*, application/json;q=0', left]
  // The ranges among other things count.
  refused.push('json, text/html')
  for (const accept of [...accepted, ...refused])
    t.equal(media.acceptsAny(accept, json), accepted.includes(accept), accept)
})

t.test('the type of the highest quality is preferred, of equal ones the first', async (t) => {
  const preferred = (accept: string) => media.preferredType(accept, ['a/x', 'a/y', 'a/z'])
  t.equal(preferred('a/x;q=0.5, a/z, a/y'), 'a/y')
  t.equal(preferred('a/*;q=0'), null)
})

t.test('a type is named by itself, not by a range', async (t) => {
  for (const accept of ['a/b, Text/HTML;q=0.1', 'text/html'])
    t.ok(media.namesType(accept, 'text/html'), accept)
  for (const accept of ['*/*', 'text/*', 'text/html;q=0', ''])
    t.notOk(media.namesType(accept, 'text/html'), accept)
})

t.test('an Accept header that is not a list of media ranges accepts everything', async (t) => {
  for (const accept of ['', ' ', ', ,', 'json', '*', 'a b/c', '/', 'a/', '/b', 'text/html/x', '\u00e9/x'])
    t.equal(media.acceptsAny(accept, json), true, JSON.stringify(accept))
})

const type = fc.constantFrom('a/x', 'a/y', 'b/x', 'b/y')
const range = fc.oneof(type, fc.constantFrom('a/*', 'b/*', '*/*'))
const weight = fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', ';v=1', ';v=1;q=0')
const accept = fc.array(fc.tuple(range, weight), { minLength: 1, maxLength: 6 })

t.test('the result is that of a plain implementation of the rules', async () => {
  inRuns(500, accept, fc.uniqueArray(type, { minLength: 1 }), (ranges, produced) => {
    const header = ranges.map(([name, quality]) => name + quality).join(', ')
    return media.acceptsAny(header, produced) === produced.some((name) => isTaken(ranges, name))
  })
})

t.test('what follows an accepted type does not matter, whatever its text and length', async (t) => {
  const accepts = (text: string) => media.acceptsAny(`application/json,${text}`, json)
  forAll(fc.string(), accepts)
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
  for (const none of [undefined, '']) t.equal(media.mediaTypeOf(none), '')
  t.equal(media.mediaTypeOf(' text/csv ;header=present'), 'text/csv')
})

t.test('forms are urlencoded or multipart', async (t) => {
  const types = ['application/x-www-form-urlencoded', 'multipart/form-data', 'multipart/mixed', '']
  t.strictSame(types.filter(media.isForm), types.slice(0, 2))
  t.equal(media.formType, types[0])
})

t.test('JSON is application/json and the +json suffix (RFC 6839 §3.1)', async (t) => {
  for (const name of ['application/json', 'application/problem+json', 'application/merge-patch+json'])
    t.ok(media.isJson(name), name)
  for (const name of ['', 'json', 'text/plain', 'application/jsonp', 'application/json-seq', 'a/xml'])
    t.notOk(media.isJson(name), name)
})

/** RFC 9110 §12.5.1, one type at a time: the ranges of the greatest precedence that match decide. */
function isTaken(ranges: readonly (readonly [range: string, weight: string])[], name: string): boolean {
  for (const candidate of [name, `${name.split('/')[0]}/*`, '*/*']) {
    const deciding = ranges.filter(([text]) => text === candidate)
    if (deciding.length > 0) return deciding.some(([, quality]) => !quality.endsWith(';q=0'))
  }
  return false
}

t.test('of a header that a client made long, the ranges in the first 1000 characters count', async (t) => {
  const many = 'text/x,'.repeat(2000)
  t.ok(media.acceptsAny(`text/y,application/json,${many}`, json))
  t.notOk(media.acceptsAny(`${many}application/json,text/y`, json), 'beyond them')
  t.ok(media.acceptsAny(`${'text/x,'.repeat(140)}    application/json`, json), 'the last of 1000')
  t.notOk(media.acceptsAny(`${'text/x,'.repeat(142)}text/csvx`, ['text/c']), 'a range that is cut')
})
