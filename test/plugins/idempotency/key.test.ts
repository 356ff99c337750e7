/** The field value of Idempotency-Key. */
import * as fc from 'fast-check'
import t from 'tap'
import { readKey } from '../../../src/plugins/idempotency/request.js'

const cases: readonly (readonly [fieldValue: string, key: string | null])[] = [
  ['"8e03978e-40d5-43e8-bc93-6894a57f9324"', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
  ['8e03978e-40d5-43e8-bc93-6894a57f9324', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
  ['k', 'k'],
  ['"k"', 'k'],
  ['"a b, c;d"', 'a b, c;d'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['"a\\bc"', null],
  ['', null],
  ['""', null],
  ['"', null],
  ['"a', null],
  ['a"', null],
  ['a b', null],
  ['a, a', null],
  ['"a", "a"', null],
  ['"a";p=1', null],
  ['a;p=1', null],
  ['ä', null],
  ['"ä"', null],
  ['"a\u0000"', null],
  ['"a\tb"', null],
  ['x'.repeat(255), 'x'.repeat(255)],
  ['x'.repeat(256), null],
  [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  [`"${'x'.repeat(256)}"`, null],
  [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  [`"${'\\"'.repeat(256)}"`, null],
]

for (const [fieldValue, key] of cases) {
  t.test(`the key of ${fieldValue.slice(0, 40)} (${fieldValue.length} characters)`, async (t) => {
    t.equal(readKey(fieldValue), key)
  })
}

t.test('each text of 1 to 255 visible ASCII characters is a key in quotes', async (t) => {
  const text = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  })
  fc.assert(
    fc.property(text, (key) => {
      const isKey = key.length > 0 && key.length <= 255
      return readKey(`"${key.replace(/["\\]/g, '\\$&')}"`) === (isKey ? key : null)
    }),
  )
  t.pass()
})
