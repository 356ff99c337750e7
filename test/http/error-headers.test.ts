/** RFC 9110 §5.1, §5.5 (fields), RFC 9112 §6 (framing): which header fields a problem takes over from an error. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { foreignFields, isField, isProblemField, replacedByProblem } from '../../src/http/error-headers.js'

t.test('a field is written exactly where Node would write it (RFC 9110 §5.1, §5.5)', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'aZ9-_~ :\t\r\n\0\x7f\xe9\xff\u0100€😀'), maxLength: 5 })
  fc.assert(
    fc.property(text, text, (name, value) => isField(name, value) === nodeWrites(name, value)),
    { numRuns: 1000 },
  )
})

t.test('values are texts and numbers, or lists of them', async (t) => {
  for (const value of ['a', '', 5, ['a=1', 'b=2']]) t.ok(isField('x-a', value), String(value))
  for (const value of [['a', 'b\n'], null, undefined, {}]) t.notOk(isField('x-a', value), String(value))
})

t.test('fields that frame or describe a body are not sent with a problem (RFC 9112 §6)', async (t) => {
  for (const name of ['Content-Type', 'content-length', 'Content-Encoding', 'transfer-encoding', 'Trailer']) {
    t.notOk(isProblemField(name, '1'), name)
  }
  for (const name of ['Content-Range', 'Allow', 'Connection', 'Content-Security-Policy']) {
    t.ok(isProblemField(name, '1'), name)
  }
})

t.test('a problem replaces the fields about a representation (RFC 9110 §8, RFC 9530)', async (t) => {
  const ofContent = 'encoding language disposition range digest md5 length location'
  const others = 'repr-digest digest etag last-modified expires accept-ranges'
  const names = [...ofContent.split(' ').map((name) => `content-${name}`), ...others.split(' ')]
  t.strictSame(replacedByProblem.toSorted(), names.sort())
})

t.test('of an error of the app, a 4xx keeps its header fields, a 5xx only Retry-After', async (t) => {
  const headers = { Allow: 'GET', 'Retry-After': 5, connection: 'close', 'content-length': 1, 'x-a': {} }
  t.strictSame(foreignFields(headers, 405), { Allow: 'GET', 'Retry-After': '5' })
  t.strictSame(foreignFields(headers, 500), { 'Retry-After': '5' })
  for (const none of [undefined, null, 'x']) t.equal(foreignFields(none, 404), undefined)
})

function nodeWrites(name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}
