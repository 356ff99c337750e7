/** What the package writes as JSON text is what `JSON.stringify` writes; long digit runs are always found. */
import fc from 'fast-check'
import t from 'tap'
import { hasLongDigits, hasLongInteger, isPlainText, textOf } from '../../src/json/exact-json.js'

t.test('a string is written as JSON.stringify writes it, at every length', async (t) => {
  const units = ['a', '"', '\\', '\u0000', '\u001f', '\u007f', '\u2028', 'é', '😀', '\ud800', '\udfff', '/']
  for (const unit of units) {
    for (const length of [0, 1, 11, 12, 13, 4999, 5000, 5001]) {
      const text = 'x'.repeat(Math.max(length - 1, 0)) + (length === 0 ? '' : unit)
      t.equal(
        textOf(text),
        JSON.stringify(text),
        `${length} characters, the last U+${unit.codePointAt(0)?.toString(16)}`,
      )
    }
  }
})

t.test('a plain string is its own JSON between quotes', async (t) => {
  const text = fc.oneof(fc.string({ maxLength: 30 }), fc.string({ unit: 'binary', maxLength: 100 }))
  const details = fc.check(
    fc.property(text, (one) => isPlainText(one) === (JSON.stringify(one) === `"${one}"`) || hasPair(one)),
    { numRuns: 2000 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random strings')
  t.notOk(isPlainText('x'.repeat(5000)), 'JSON.stringify is faster with long ones')
})

t.test('16 digits in a row are found at every position, 15 are not; a point is one of them', async (t) => {
  for (const length of [0, 1, 15, 16, 17, 31, 32, 100]) {
    const found = Array.from({ length: 40 }, (_, before) => {
      const digits = '7'.repeat(length)
      const withPoint = `${digits.slice(0, before)}.${digits.slice(before + 1)}`.slice(0, length)
      const numbers = [digits, withPoint].map((number) => ' '.repeat(before) + number)
      return numbers.flatMap((json) => [json, `${json},1`, `1,${json}}`].map(hasLongDigits))
    })
    t.strictSame(new Set(found.flat()), new Set([length >= 16]), `${length} digits`)
  }
})

t.test('a long integer is found; a fraction, an exponent and the digits of a text are none', async (t) => {
  const digits = '9007199254740993'
  for (const json of [digits, `{"id":${digits}}`, `[1,-${digits} ]`, `{"a":"x","id":${digits},"b":1}`])
    t.ok(hasLongInteger(json), json)
  const parts = [
    `1.${digits}`,
    `${digits}.5`,
    `${digits}e3`,
    `${digits}E3`,
    `1e${digits}`,
    `1e+${digits}`,
    `1e-${digits}`,
  ]
  for (const part of [...parts, `"${digits}"`, `"-${digits}"`, digits.slice(1)])
    t.notOk(hasLongInteger(`{"a":${part}}`), part)
})

// A pair of surrogates stays as it is, but to look for its halves would cost more than it saves.
function hasPair(text: string): boolean {
  return /[\ud800-\udbff][\udc00-\udfff]/.test(text)
}
