import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { overrideOf, takeField } from '../../../src/plugins/method-override/override.js'
import type { ProblemError } from '../../../src/problem/problem-error.js'

type Fields = Readonly<Record<string, string>>
type Given = readonly [header: string | undefined, form: readonly string[]]
const rules = { methods: ['PUT', 'PATCH', 'DELETE'], formOrigins: ['https://app.example'] }
const decide = (...[header, form, fields = {}]: readonly [...Given, fields?: Fields]) =>
  overrideOf(header, form, fields, rules)

t.test('any other method is refused, and the error names the header or the field', async (t) => {
  const header = { in: 'header', name: 'x-http-method-override' }
  const field = { in: 'body', pointer: '/_method' }
  const cases: readonly (readonly [...Given, errors: object[]])[] = [
    ['TRACE', [], [header]],
    ['', [], [header]],
    ['DELETE, PUT', [], [header]],
    ['toString', [], [header]],
    ['ſ', [], [header]],
    [undefined, [''], [field]],
    [undefined, ['PUT '], [field]],
    [undefined, ['PUT', 'PUT'], [field]],
    ['TRACE', ['CONNECT'], [header, field]],
    ['DELETE', ['PUT'], [header]],
    ['DELETE', ['DELETE', 'DELETE'], [field]],
  ]
  for (const [header, form, errors] of cases) {
    const { code, statusCode, errors: given } = decide(header, form) as ProblemError
    t.match({ code, statusCode, given }, { code: 'method-override-invalid', statusCode: 400, given: errors })
    t.equal(given?.length, errors.length, JSON.stringify([header, ...form]))
  }
})

t.test('a form from another origin is refused, unless the header names the same method', async (t) => {
  const cases: readonly (readonly [fields: Fields, detail: RegExp])[] = [
    [{ 'sec-fetch-site': 'cross-site' }, /^A form from another origin cannot be performed as DELETE$/],
    [{ origin: 'null' }, /^A form from the origin null cannot /],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://b.example' }, /from the origin https:\/\/b\.example /],
  ]
  for (const [fields, message] of cases) {
    const errors = [{ in: 'body', pointer: '/_method' }]
    const refusal = { code: 'method-override-invalid', statusCode: 400, message, errors }
    t.match(decide(undefined, ['delete'], fields), refusal)
    t.equal(decide('delete', ['DELETE'], fields), 'DELETE', 'the header took a preflight')
    t.equal(decide('delete', [], fields), 'DELETE', 'here too')
    t.equal(decide(undefined, [], fields), null, 'a form that names no method is a POST')
  }
  const named = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' }
  t.equal(decide(undefined, ['PUT'], named), 'PUT')
})

t.test('the detail quotes a bounded part of the header, the form and the origin', async (t) => {
  const cases: readonly (readonly [...Given, detail: string])[] = [
    [undefined, ['TRACE'], "A POST cannot be performed as 'TRACE'"],
    ['TRACE', ['CONNECT'], "A POST cannot be performed as 'TRACE' and 'CONNECT'"],
    ['PUT', ['DELETE'], "A POST cannot be performed as 'PUT' and 'DELETE'"],
  ]
  for (const [header, form, message] of cases) t.match(decide(header, form), { message })
  const long = 'X'.repeat(5000)
  for (const refusal of [decide(long, [long]), decide(undefined, ['PUT'], { origin: long })]) {
    t.equal((refusal as ProblemError).message.length < 150, true)
  }
})

t.test('a field is taken out of a form, and the other bytes do not change', async (t) => {
  const cases: readonly (readonly [form: string, values: readonly string[], rest: string])[] = [
    ['', [], ''],
    ['a=1&_method=PATCH&b=2', ['PATCH'], 'a=1&b=2'],
    ['_method=PUT&_method=DELETE&a=%20', ['PUT', 'DELETE'], 'a=%20'],
    ['_method', [''], ''],
    ['_method==', ['='], ''],
    ['%5Fmethod=PATCH&a=%zz', ['PATCH'], 'a=%zz'],
    ['_method=PA%54CH', ['PATCH'], ''],
    ['_method=%zz', ['%zz'], ''],
    ['_METHOD=PATCH', [], '_METHOD=PATCH'],
    ['x_method=PATCH&_methods=1', [], 'x_method=PATCH&_methods=1'],
    ['_method=PUT&a=1&&b=2&', ['PUT'], 'a=1&&b=2&'],
    ['a=1;_method=PATCH', [], 'a=1;_method=PATCH'],
  ]
  for (const [form, values, rest] of cases) {
    t.strictSame(takeField(form, '_method'), { values, rest }, form)
  }
})

t.test('any form: the removed field and the rest are those that a parser reads', async () => {
  const name = fc.constantFrom('_method', 'age', '_meth', 'ä&=', ' ')
  const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 8 })), { maxLength: 6 })
  fc.assert(
    fc.property(pairs, (pairs) => {
      const form = new URLSearchParams(pairs).toString()
      const { values, rest } = takeField(form, '_method')
      const expected = new URLSearchParams(form)
      deepEqual(values, expected.getAll('_method'))
      expected.delete('_method')
      deepEqual([...new URLSearchParams(rest)], [...expected])
    }),
    { numRuns: 500 },
  )
})
