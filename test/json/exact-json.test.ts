/** Without a schema the bytes are those of `JSON.stringify`, with exact integers and their twins. */
import fc from 'fast-check'
import t from 'tap'
import { exactJson, holdsBigInt } from '../../src/json/exact-json.js'
import { valueTwin } from '../../src/json/int64.js'
import { parseExact, twinFaults, withoutTwins, writeExact } from '../schema/exact-tree.js'

const big = 9_007_199_254_740_993n

t.test('a value that JSON.stringify can write is written in the same way', async (t) => {
  const scalars = [null, true, 0, -0, 1e21, 1.5, Number.NaN, Infinity, undefined, () => 1, Symbol('a')]
  const values: readonly unknown[] = [
    ...scalars,
    'a"\n\ud800',
    [],
    {},
    [undefined, () => 1, Symbol('a'), Number.NaN],
    { a: undefined, b: () => 1, c: Symbol('c'), d: null },
    { date: new Date(0), invalid: new Date(Number.NaN), regexp: /a/, map: new Map([[1, 2]]) },
    [new String('a'), new Number(1), new Boolean(false)],
    { toJSON: (key: string) => `made of ${key}` },
    { nested: { toJSON: (key: string) => ({ key }) }, list: [{ toJSON: (key: string) => key }] },
    Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } }),
    Object.assign(Object.create(null), { a: 1 }),
    JSON.parse('{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}'),
    'x'.repeat(6000),
  ]
  for (const value of values) {
    t.equal(exactJson(value, true), JSON.stringify(value), 'with twins')
    t.equal(exactJson(value, false), JSON.stringify(value), 'without')
  }
})

t.test('BigInts are exact, and followed by their twins; rounded Numbers have none', async (t) => {
  const rows: readonly (readonly [value: unknown, json: string])[] = [
    [{ id: big, name: 'a' }, '{"id":9007199254740993,"id_str":"9007199254740993","name":"a"}'],
    [{ id: 1n }, '{"id":1}'],
    [{ ids: [9007199254740991n] }, '{"ids":[9007199254740991]}'],
    [{ ids: [big, '5'] }, `{"ids":[${big},"5"],"ids_str":["${big}",null]}`],
    [{ id: 2 ** 53, big: 1n }, '{"id":9007199254740992,"big":1}'],
    [{ ids: [2 ** 53, big] }, `{"ids":[9007199254740992,${big}],"ids_str":[null,"${big}"]}`],
    [{ big: 1n, list: Object.assign([1], { 2: 3 }) }, '{"big":1,"list":[1,null,3]}'],
    [{ big: Object(1n), n: new Number(2), s: new String('s') }, '{"big":1,"n":2,"s":"s"}'],
    [{ big: 1n, u: undefined, f: () => 1, l: [{ toJSON: (key: string) => key }] }, '{"big":1,"l":["0"]}'],
    [{ toJSON: (key: string) => ({ key, big: 1n }) }, '{"key":"","big":1}'],
    [{ ids: [1, big] }, '{"ids":[1,9007199254740993],"ids_str":["1","9007199254740993"]}'],
    [[{ id: big }], '[{"id":9007199254740993,"id_str":"9007199254740993"}]'],
    [[big], '[9007199254740993]'],
    [big, '9007199254740993'],
    [{ a: [[big]] }, '{"a":[[9007199254740993]],"a_str":[["9007199254740993"]]}'],
    [{ a: { toJSON: () => ({ id: big }) } }, '{"a":{"id":9007199254740993,"id_str":"9007199254740993"}}'],
    [{ 'a"b': big }, '{"a\\"b":9007199254740993,"a\\"b_str":"9007199254740993"}'],
    [{ id: big, id_str: 'mine' }, '{"id":9007199254740993,"id_str":"mine"}'],
    [{ card: '1234567890123456' }, '{"card":"1234567890123456"}'],
    [{ n: 1234567890.1234567, m: 0.1234567890123456 }, '{"n":1234567890.1234567,"m":0.1234567890123456}'],
    [{ n: 1e300, m: 1e21 }, '{"n":1e+300,"m":1e+21}'],
  ]
  for (const [value, json] of rows) t.equal(exactJson(value, true), json)
})

t.test('random values: the numbers have all digits, and each twin is right', async (t) => {
  const number = fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, number, fc.array(number), fc.array(tie('value')), tie('object')),
    object: fc.dictionary(fc.stringMatching(/^[a-z"]{1,3}$/), tie('value'), { noNullPrototype: true }),
  }))
  const digitsOnly = (one: unknown): string =>
    JSON.stringify(one, (_, part) => (typeof part === 'bigint' ? `#${part}#` : part))
  const details = fc.check(
    fc.property(value, (one) => {
      const tree = parseExact(exactJson(one, true) as string)
      const plain = digitsOnly(one).replaceAll(/"#(-?\d+)#"/g, '$1')
      return writeExact(withoutTwins(tree)) === plain && twinFaults(tree).length === 0
    }),
    { numRuns: 500 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random values')
})

t.test('a circular value and one deeper than 500 levels are refused', async (t) => {
  const circle: { self?: unknown; id: bigint } = { id: big }
  circle.self = circle
  const deep = (levels: number): unknown => {
    let value: unknown = big
    for (let level = 0; level < levels; level++) value = [value]
    return value
  }
  const refused = { name: 'TypeError', message: 'a value goes deeper than 500 levels, or round in a circle' }
  t.throws(() => exactJson(circle, true), refused)
  t.throws(() => exactJson(deep(501), true), refused)
  t.equal(exactJson(deep(500), true), `${'['.repeat(500)}9007199254740993${']'.repeat(500)}`)
})

t.test('getters are read once by the exact writer', async (t) => {
  let reads = 0
  const value = Object.defineProperty({ big }, 'once', { enumerable: true, get: () => ++reads })
  t.equal(exactJson(value, true), '{"big":9007199254740993,"big_str":"9007199254740993","once":1}')
  t.equal(reads, 1)
})

t.test('a BigInt is found wherever JSON has it, and nowhere else', async (t) => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const throwing = Object.defineProperty({}, 'a', { enumerable: true, get: () => JSON.parse('') })
  const found = [5n, [[5n]], { a: [{ toJSON: () => [5n] }] }, { toJSON: () => 5n }, Object(5n)]
  for (const value of [...found, new BigInt64Array(1), new BigUint64Array(1), [circle, 5n]])
    t.equal(holdsBigInt(value), true)
  for (const value of ['5', null, undefined, new Map([[1, 1n]]), circle, { toJSON: () => circle }, throwing])
    t.equal(holdsBigInt(value), false)
  t.equal(holdsBigInt([new Uint8Array(1), () => 5n, { a: 5 }]), false)
})

t.test('the twin of a single value', async (t) => {
  t.equal(valueTwin(big), '"9007199254740993"')
  t.equal(valueTwin([big]), '["9007199254740993"]')
  for (const value of [1, 1n, null, '9007199254740993', {}, [1], undefined]) t.equal(valueTwin(value), null)
})
