import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { takeField } from '../../../src/plugins/method-override/override.js'

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
