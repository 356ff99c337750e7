/** JSON with exact integers: what is written without a schema, what is read, and 64-bit integers as text. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  digitsIn,
  exactJson,
  hasLongDigits,
  hasLongInteger,
  holdsBigInt,
  isPlainText,
  parseExact,
  quoteLongNumbers,
  textOf,
} from '../../src/json/exact-json.js'
import { isWithin, parseInt64, rangeOf } from '../../src/json/int64.js'
import { parseExact as treeOf, twinFaults, withoutTwins, writeExact } from '../schema/exact-tree.js'
import { jsonText } from '../schema/json-texts.js'

const big = 9_007_199_254_740_993n

t.test('a value that JSON.stringify can write is written in the same way', async (t) => {
  const scalars = [null, true, 0, -0, 1e21, 1.5, Number.NaN, Infinity, undefined, () => 1, Symbol('a')]
  const values: readonly unknown[] = [
    ...[...scalars, scalars, 'a"\n\ud800', [], {}, 'x'.repeat(6000)],
    { a: undefined, b: () => 1, c: Symbol('c'), d: null },
    { date: new Date(0), invalid: new Date(Number.NaN), regexp: /a/, map: new Map([[1, 2]]) },
    [new String('a'), new Number(1), new Boolean(false)],
    { toJSON: (key: string) => `made of ${key}` },
    { nested: { toJSON: (key: string) => ({ key }) }, list: [{ toJSON: (key: string) => key }] },
    Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } }),
    Object.assign(Object.create(null), { a: 1 }),
    JSON.parse('{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}'),
  ]
  for (const value of values)
    for (const twins of [true, false]) t.equal(exactJson(value, twins), JSON.stringify(value))
})

t.test('BigInts are exact, and followed by their twins; rounded Numbers have none', async (t) => {
  const rows: readonly (readonly [value: unknown, json: string])[] = [
    [{ ids: [9007199254740991n] }, '{"ids":[9007199254740991]}'],
    [{ ids: [big, '5'] }, `{"ids":[${big},"5"],"ids_str":["${big}",null]}`],
    [{ id: 2 ** 53, big: 1n }, '{"id":9007199254740992,"big":1}'],
    [{ ids: [2 ** 53, big] }, `{"ids":[9007199254740992,${big}],"ids_str":[null,"${big}"]}`],
    [{ big: 1n, list: Object.assign([1], { 2: 3 }) }, '{"big":1,"list":[1,null,3]}'],
    [{ big: Object(1n), n: new Number(2), s: new String('s') }, '{"big":1,"n":2,"s":"s"}'],
    [{ big: 1n, u: undefined, f: () => 1, l: [{ toJSON: (key: string) => key }] }, '{"big":1,"l":["0"]}'],
    [{ toJSON: (key: string) => ({ key, big: 1n }) }, '{"key":"","big":1}'],
    [{ id: big, id_str: 'mine' }, '{"id":9007199254740993,"id_str":"mine"}'],
    [big, '9007199254740993'],
  ]
  for (const [value, json] of rows) t.equal(exactJson(value, true), json)
})

t.test('random values: the numbers have all digits, and each twin is right', async () => {
  const number = fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, number, fc.array(number), fc.array(tie('value')), tie('object')),
    object: fc.dictionary(fc.stringMatching(/^[a-z"]{1,3}$/), tie('value'), { noNullPrototype: true }),
  }))
  const digitsOnly = (one: unknown): string =>
    JSON.stringify(one, (_, part) => (typeof part === 'bigint' ? `#${part}#` : part))
  const isExact = (one: unknown) => {
    const tree = treeOf(exactJson(one, true) as string)
    const plain = digitsOnly(one).replaceAll(/"#(-?\d+)#"/g, '$1')
    return writeExact(withoutTwins(tree)) === plain && twinFaults(tree).length === 0
  }
  fc.assert(fc.property(value, isExact), { numRuns: 500 })
})

t.test('a circular value and one deeper than 500 levels are refused', async (t) => {
  const circle: { self?: unknown; id: bigint } = { id: big }
  circle.self = circle
  const deep = (levels: number) => Array.from({ length: levels }).reduce((value) => [value], big)
  const refused = { name: 'TypeError', message: 'a value goes deeper than 500 levels, or round in a circle' }
  for (const value of [circle, deep(501)]) t.throws(() => exactJson(value, true), refused)
  t.equal(exactJson(deep(500), true), `${'['.repeat(500)}9007199254740993${']'.repeat(500)}`)
})

t.test('getters are read once by the exact writer', async (t) => {
  let reads = 0
  const value = Object.defineProperty({ big: 1n }, 'once', { enumerable: true, get: () => ++reads })
  t.strictSame([exactJson(value, true), reads], ['{"big":1,"once":1}', 1])
})

t.test('a BigInt is found wherever JSON has it, and nowhere else', async (t) => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const throwing = Object.defineProperty({}, 'a', { enumerable: true, get: () => JSON.parse('') })
  const found = [5n, [[5n]], { a: [{ toJSON: () => [5n] }] }, { toJSON: () => 5n }, Object(5n)]
  for (const value of [...found, new BigInt64Array(1), new BigUint64Array(1), [circle, 5n]])
    t.equal(holdsBigInt(value), true)
  const others = ['5', null, undefined, new Map([[1, 1n]]), circle, { toJSON: () => circle }, throwing]
  for (const value of [...others, [new Uint8Array(1), () => 5n, { a: 5 }]]) t.equal(holdsBigInt(value), false)
})

t.test('the digits of a value are those of its BigInts and decimal texts, where JSON has them', async (t) => {
  const made = { toJSON: () => [3n] }
  const rows: readonly (readonly [value: unknown, digits: readonly string[]])[] = [
    [
      [5n, '-7', '1.5', 'x5', 5, null, '5'],
      ['5', '-7'],
    ],
    [{ a: { b: 1n }, list: [made, made] }, ['1', '3']],
    [new BigUint64Array([9n]), ['9']],
    [new Uint8Array(1), []],
  ]
  for (const [value, digits] of rows) t.strictSame([...digitsIn(value)], digits)
})

t.test('a string is written as JSON.stringify does; a plain one is its own JSON', async (t) => {
  const unit = fc.constantFrom(...'xyz"\\/\u0000\u001f\u007f\u2028é', '\ud800', '\udfff', '😀')
  // Plain, but for the last unit.
  const start = fc.nat({ max: 20 }).map((length) => 'x'.repeat(length))
  const plain = fc.tuple(start, unit).map((parts) => parts.join(''))
  const text = fc.oneof(plain, fc.string({ unit, maxLength: 30 }), fc.string({ unit: 'binary' }))
  // A pair of surrogates stays as it is, but to look for its halves would cost more than it saves.
  const hasPair = (one: string) => /[\ud800-\udbff][\udc00-\udfff]/.test(one)
  const isWritten = (one: string) =>
    textOf(one) === JSON.stringify(one) && (isPlainText(one) === (textOf(one) === `"${one}"`) || hasPair(one))
  fc.assert(fc.property(text, isWritten), { numRuns: 1000 })
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
  const withDigits = (json: string) => json.replace('D', '9007199254740993')
  for (const json of ['D', '{"id":D}', '[1,-D ]', '{"a":"x","id":D,"b":1}'])
    t.ok(hasLongInteger(withDigits(json)), json)
  for (const part of ['1.D', 'D.5', 'De3', 'DE3', '1eD', '1e+D', '1e-D', '"D"', '"-D"', '900719925474099'])
    t.notOk(hasLongInteger(withDigits(`{"a":${part}}`)), part)
})

t.test('long integers become BigInts, all other values are those of JSON.parse', async (t) => {
  const rows: readonly (readonly [json: string, value: unknown])[] = [
    ['[-9007199254740993]', [-9007199254740993n]],
    ['{"id":18446744073709551615}', { id: 18446744073709551615n }],
    ['["9007199254740993,",9007199254740993]', ['9007199254740993,', 9007199254740993n]],
    // Safe integers stay Numbers.
    ['[9007199254740991,-9007199254740991,1,0.5,1e3]', [2 ** 53 - 1, 1 - 2 ** 53, 1, 0.5, 1000]],
    ['[9007199254740992]', [9007199254740992n]],
    // Beyond 20 digits, fractions and exponents stay Numbers, exact or not.
    ['[123456789012345678901]', [123456789012345680000]],
    ['[9007199254740993.0,1e17,1.00000000000000000001]', [9007199254740992, 1e17, 1]],
  ]
  for (const [json, value] of rows) t.strictSame(parseExact(json), value, json)
  const proto = parseExact('{"__proto__":9007199254740993}') as object
  t.strictSame([Object.entries(proto), proto instanceof Object], [[['__proto__', big]], true])
  for (const json of ['', '{', '[9007199254740993,]', '09007199254740993'])
    t.throws(() => parseExact(json), SyntaxError, json)
})

t.test('only long numbers are quoted in the text', async (t) => {
  const rows: readonly (readonly [json: string, quoted: string])[] = [
    ['[-9007199254740993 ,\n1.5e-300000000000]', '["-9007199254740993" ,\n"1.5e-300000000000"]'],
    ['[123456789012345,true,false,null]', '[123456789012345,true,false,null]'],
    ['{"12345678901234567":"12345678901234567"}', '{"12345678901234567":"12345678901234567"}'],
  ]
  for (const [json, quoted] of rows) t.equal(quoteLongNumbers(json), quoted, json)
  const unquoted = (written: unknown, value: unknown): unknown => {
    if (typeof value === 'number') return Number(written)
    if (typeof value !== 'object' || value === null) return written
    const texts = written as Record<string, unknown>
    const entries = Object.entries(value).map(([key, one]) => [key, unquoted(texts[key], one)])
    return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries)
  }
  const isSame = (json: string) => {
    const value: unknown = JSON.parse(json)
    return isDeepStrictEqual(unquoted(JSON.parse(quoteLongNumbers(json)), value), value)
  }
  fc.assert(fc.property(jsonText, isSame), { numRuns: 500 })
})

t.test('canonical decimal text of 64 bits is read exactly, and no other text', async (t) => {
  const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)]
  for (const value of [0n, big, most, least]) t.equal(parseInt64(String(value)), value)
  const others = [
    '-0',
    '00',
    '+7',
    '7.0',
    '1e400',
    '0x10',
    '7n',
    ' 7',
    '7\n',
    '',
    '-',
    '٧',
    '9'.repeat(10_000),
  ]
  for (const text of [...others, `${most + 1n}`, `${least - 1n}`]) t.equal(parseInt64(text), null)
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[+-]?\d{0,21}$/), fc.bigInt().map(String))
  const isExact = (written: string): boolean => {
    const value = parseInt64(written)
    return value === null ? !/^(?:0|-?[1-9]\d{0,17})$/.test(written) : String(value) === written
  }
  fc.assert(fc.property(text, isExact))
  t.strictSame(rangeOf('int64'), { min: least, max: most })
  t.strictSame(rangeOf('uint64'), { min: 0n, max: 2n ** 64n - 1n })
  for (const format of ['int32', 'Int64', '', undefined]) t.equal(rangeOf(format), null)
  const within = [-1n, 0n, 1n, 2n].map((value) => isWithin({ min: 0n, max: 1n }, value))
  t.strictSame(within, [false, true, true, false])
})
