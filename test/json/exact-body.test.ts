/** decisions.md §3 "Integer twins": no digit of a body is lost, and JSON without long digits takes the native parser. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseExact } from '../../src/json/exact-body.js'
import { marked, markedLiteral } from '../../src/json/long-literals.js'
import { unmark } from '../../src/json/unmark.js'
import { digits, jsonText, spoiled } from '../json-schema/json-texts.js'

/** Like the parser of a framework: with an error of its own, and no tolerance for prototypes. */
function parse(text: string): unknown {
  if (/"__proto__"\s*:/.test(text)) throw new TypeError('forbidden')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SyntaxError(`not JSON: ${text}`, { cause: error })
  }
}

type Outcome = { readonly value: unknown } | { readonly error: string }

function native(text: string): Outcome {
  try {
    return { value: parse(text) }
  } catch (error) {
    return { error: String(error) }
  }
}

function unmarked(text: string): Outcome {
  try {
    const { value, marks } = parseExact(text, parse)
    const holder = { value }
    unmark(holder, marks)
    return holder
  } catch (error) {
    return { error: String(error) }
  }
}

t.test('numbers that keep their digits', async (t) => {
  const rows: readonly (readonly [text: string, literals: readonly string[]])[] = [
    ['9007199254740993', ['9007199254740993']],
    ['-9007199254740993', ['-9007199254740993']],
    ['[9007199254740993]', ['9007199254740993']],
    ['{"a":12345678901234567890}', ['12345678901234567890']],
    [
      '{"a":-9223372036854775808,"b":[18446744073709551615]}',
      ['-9223372036854775808', '18446744073709551615'],
    ],
    ['\n{ "a"\t:\r 9007199254740993 \n}', ['9007199254740993']],
    [
      '[9007199254740993,9007199254740994,9007199254740995]',
      ['9007199254740993', '9007199254740994', '9007199254740995'],
    ],
    // A fraction that a Number rounds to an integer.
    ['[9007199254740991.4]', ['9007199254740991.4']],
    ['[1.00000000000000000001]', ['1.00000000000000000001']],
    ['[-0.00000000000000000000]', ['-0.00000000000000000000']],
    // Strings with digits do not get in the way.
    ['{"id":9007199254740993,"id_str":"9007199254740993"}', ['9007199254740993']],
    ['{"note":"order 1, 12345678901234567, open","id":9007199254740993}', ['9007199254740993']],
    ['["\\"",9007199254740993,"\\\\",9007199254740994]', ['9007199254740993', '9007199254740994']],
    ['["[\\"1,12345678901234567,",9007199254740993]', ['9007199254740993']],
    ['["é😀",9007199254740993]', ['9007199254740993']],
  ]
  for (const [text, literals] of rows) {
    const { value, marks } = parseExact(text, parse)
    t.strictSame(literalsIn(value), literals, text)
    t.equal(marks, literals.length, `${text}: marks`)
    t.strictSame(unmarked(text), native(text), `${text}: turned back`)
  }
})

t.test('what is left to the native parser', async (t) => {
  const rows = [
    '{"a":1,"b":[-0,1e3,1.5,123456789012345]}',
    '[8999999999999999,-1234567890123456]',
    '[123456789012345678901,1234567890123456789012345]',
    '[0.1234567890123456789,12345678901234567e5,1e12345678901234567,1234567890123456.5]',
    '{"a":12345678901234567890123}',
    '"12345678901234567890"',
    '{"12345678901234567":1}',
    '{"a":"\\"12345678901234567\\""}',
    '"a: 12345678901234567, b"',
    '["x","12345678901234567",":12345678901234567,"]',
    '""',
    'null',
    '[]',
  ]
  for (const text of rows) {
    const { value, marks } = parseExact(text, parse)
    t.equal(marks, 0, text)
    t.strictSame({ value }, native(text), text)
  }
})

t.test('what is not JSON is refused as the native parser refuses it', async (t) => {
  const rows = [
    '',
    '{"a":12345678901234567',
    '{"a":12345678901234567}}',
    '{12345678901234567:1}',
    '{"a":1,12345678901234567 : 1}',
    '{"a":1,12345678901234567}',
    '[012345678901234567]',
    '[-012345678901234567]',
    '[00000000000000000000]',
    '[+12345678901234567]',
    '[--12345678901234567]',
    '[12345678901234567-1]',
    '[12345678901234567.]',
    '[.12345678901234567]',
    '[12345678901234567e]',
    '[01.0000000000000000]',
    '[1.0000000000000000e]',
    '[.10000000000000000e1]',
    '[12345678901234567n]',
    '[0x12345678901234567]',
    '[12345678901234567 12345678901234567]',
    '["a"12345678901234567]',
    '[12345678901234567"a"]',
    '[true12345678901234567]',
    '[12345678901234567null]',
    '["12345678901234567]',
    '["a: 12345678901234567, 9007199254740993]',
    '["\\u12345678901234567, "9007199254740993]',
    '["\\12345678901234567"]',
    '{"__proto__":12345678901234567}',
    '12345678901234567,',
    ',12345678901234567',
    '[12345678901234567,]',
  ]
  for (const text of rows) {
    const expected = native(text)
    t.ok('error' in expected, `${text} is not JSON`)
    t.strictSame(unmarked(text), expected, text)
  }
})

t.test('any text is taken or refused as the native parser does it, and becomes the same', async () => {
  fc.assert(
    fc.property(fc.oneof(jsonText, spoiled(jsonText)), (text) =>
      isDeepStrictEqual(unmarked(text), native(text)),
    ),
    { numRuns: 2_000 },
  )
})

t.test('nothing but long numbers is other than the native parser makes it', async () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const { value } = parseExact(text, JSON.parse)
      return isDeepStrictEqual(shape(value), shape(JSON.parse(text)))
    }),
  )
})

t.test('every long fraction that a Number rounds to a safe integer is marked, and no other', async () => {
  const whole = fc.bigInt({ min: 0n, max: 10n ** 16n }).chain((most) => fc.bigInt({ min: 0n, max: most }))
  const near = fc.tuple(fc.constantFrom('0', '9', ''), fc.nat(20), digits(1, 20))
  const sign = fc.constantFrom('', '-')
  fc.assert(
    fc.property(sign, whole, near, (minus, integer, [digit, times, rest]) => {
      const literal = `${minus}${integer}.${digit.repeat(times)}${rest}`
      const isLong = /\d{16}/.test(literal)
      const isMarked = isLong && Number.isSafeInteger(Number(literal))
      return parseExact(`[${literal}]`, JSON.parse).marks === (isMarked ? 1 : 0)
    }),
    { numRuns: 1_000 },
  )
})

t.test('texts of a megabyte', async (t) => {
  const many = 60_000
  const rows: readonly (readonly [about: string, text: string, marks: number])[] = [
    ['digits', '9'.repeat(1_000_000), 0],
    ['digits and no end', `[${'1'.repeat(1_000_000)}`, 0],
    ['long integers', `[${'9007199254740993,'.repeat(many)}0]`, many],
    ['long integers far apart', `[${`9007199254740993,${' '.repeat(50)}`.repeat(many / 4)}0]`, many / 4],
    ['digits in a string', `["${', 9007199254740993'.repeat(many)}",9007199254740993]`, 1],
    ['strings of digits', `[${'"9007199254740993",'.repeat(many)}9007199254740993]`, 1],
    ['dots between digits', `[${'1234567890123456.'.repeat(many)}]`, 0],
    ['exponents', `[${'1e'.repeat(500_000)}12345678901234567]`, 0],
    ['spaces', `[${' '.repeat(1_000_000)}9007199254740993]`, 1],
    ['levels', `${'['.repeat(400_000)}9007199254740993${']'.repeat(400_000)}`, 1],
    ['backslashes', `["${'\\\\'.repeat(400_000)}", 9007199254740993]`, 1],
  ]
  for (const [about, text, marks] of rows) {
    const expected = native(text)
    const refused = 'error' in expected
    const result = refused ? { marks: 0 } : parseExact(text, JSON.parse)
    t.equal(result.marks, marks, about)
    if (refused) t.equal('error' in unmarked(text), true, `${about} is refused`)
  }
})

t.test('no string of a client passes for a number', async (t) => {
  const forged = marked('5')
  t.equal(markedLiteral(forged), '5')
  const secret = forged.slice(0, -1)
  t.match(secret, /^n[0-9a-f]{24}$/)
  for (const string of [
    '',
    'n',
    '5',
    secret.slice(0, -1),
    `${secret.slice(0, -1)}g5`,
    secret,
    ` ${forged}`,
  ]) {
    t.equal(markedLiteral(string), null, JSON.stringify(string))
  }
})

t.test('an error is about the text that came, and does not tell the mark', async (t) => {
  const text = '[9007199254740993,]'
  const expected = native(text)
  t.match(expected, { error: /9007199254740993/ })
  t.strictSame(unmarked(text), expected)
})

function literalsIn(value: unknown): string[] {
  const literal = markedLiteral(value)
  if (literal !== null) return [literal]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(literalsIn) : []
}

/** The value with its long numbers, marked or not, made all the same. */
function shape(value: unknown): unknown {
  if (markedLiteral(value) !== null) return 'a number'
  if (typeof value === 'number') return Number.isInteger(value) ? 'a number' : value
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).map(([key, member]) => [key, shape(member)])
}
