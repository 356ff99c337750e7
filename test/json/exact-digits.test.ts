/** Decisions §3: "the handler gets the exact BigInt, never `…992`", found without parsing the body twice. */
import fc from 'fast-check'
import t from 'tap'
import { digitsOfBody } from '../../src/json/exact-digits.js'
import { longIntegers } from '../../src/json/long-literals.js'
import { applyWide } from '../../src/plugins/integer-twins/input/wide-apply.js'
import { readWide } from '../../src/plugins/integer-twins/input/wide-input.js'
import { compileWidePlan } from '../../src/plugins/integer-twins/input/wide-plan.js'

const id = { type: 'integer', format: 'int64' }

t.test('the Number of a long integer tells its digits', async (t) => {
  const rows: readonly (readonly [text: string, integers: readonly (readonly [number, bigint])[]])[] = [
    ['{"id":5}', []],
    ['{"id":9007199254740991}', []],
    ['{"id":9007199254740993}', [[2 ** 53, 9007199254740993n]]],
    [
      '[-9007199254740993 , 9223372036854775807]',
      [
        [-(2 ** 53), -9007199254740993n],
        [2 ** 63, 2n ** 63n - 1n],
      ],
    ],
    ['[9007199254740993,9007199254740993]', [[2 ** 53, 9007199254740993n]]],
    ['[0.12345678901234567,9007199254740993]', [[2 ** 53, 9007199254740993n]]],
    [`[${'9'.repeat(21)}]`, []],
    ['{"id":9007199254740993,"tag":"7e4f9e12"}', [[2 ** 53, 9007199254740993n]]],
    // Digits in a string are not a number.
    ['{"a":"[9007199254740993]","id":9007199254740992}', [[2 ** 53, 9007199254740992n]]],
    ['["1234567890123456789","1234567890123456788,1e30"]', []],
    ['{"a":"\\"9007199254740993\\\\","id":9007199254740992}', [[2 ** 53, 9007199254740992n]]],
    // Doubles keep their fraction, or are exactly the integer that they are written as.
    ['[13.404953999999998,-7.205000000000000e-7,52.00000000000000,1e-7]', []],
    ['[13.404953999999998,9007199254740993]', [[2 ** 53, 9007199254740993n]]],
  ]
  for (const [text, integers] of rows) t.strictSame(longIntegers(text), new Map(integers), text)
})

t.test('where another number may have been rounded to the same, it does not', async (t) => {
  const texts = [
    '[9007199254740992,9007199254740993]',
    '{"a":9007199254740993,"id":9.007199254740992e15}',
    '{"a":9007199254740993,"id": 900719925474099.2E+1}',
    '{"a":9007199254740993,"id":9007199254740992.0}',
    '{"id":1.0000000000000000001}',
    '{"id":0.99999999999999999999}',
  ]
  for (const text of texts) t.equal(longIntegers(text), null, text)
})

const item = { type: 'object', properties: { id, n: { type: 'integer' }, name: { type: 'string' } } }
const plan = compileWidePlan({ type: 'array', items: item }, { place: 'body' })

t.test('a body of any integers is read exactly, its other numbers as they were parsed', async (t) => {
  if (plan === null) throw new Error('there is nothing declared')
  const near = fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n })
  const integer = fc.oneof(near, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
  const name = fc.oneof(
    fc.string(),
    integer.map(String),
    integer.map((one) => `x,${one},5e3`),
  )
  const body = fc.array(fc.record({ n: integer, id: integer, name }), { maxLength: 6 })
  const details = fc.check(
    fc.property(body, (items) => {
      const text = `[${items.map((one) => `{"n":${one.n},"id":${one.id},"name":${JSON.stringify(one.name)}}`)}]`
      const { value, digits } = digitsOfBody(JSON.parse(text), text, JSON.parse)
      const read = readWide(plan, value, digits)
      const applied = applyWide(plan, read.value, read.found)
      const expected = items.map((one) => ({ n: Number(one.n), id: one.id, name: one.name }))
      return t.strictSame([read.refusal, applied.value], [null, expected], text)
    }),
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random bodies')
})

t.test('an integer that is written with an exponent takes no digits of another', async (t) => {
  if (plan === null) throw new Error('there is nothing declared')
  const text = '[{"n":9007199254740993},{"id":9.007199254740992e15}]'
  const { value, digits } = digitsOfBody(JSON.parse(text), text, JSON.parse)
  const { value: read, refusal } = readWide(plan, value, digits)
  t.match(refusal, { kind: 'invalid', issues: [{ pointer: '/1/id' }] })
  t.strictSame(read, [{ n: 2 ** 53 }, { id: 2 ** 53 }])
})

t.test('coordinates and digits in strings do not make a body be parsed again', async (t) => {
  const place = (index: number): unknown => ({
    id: `${1_203_948_712_345_678_901n + BigInt(index)}`,
    coordinates: [13.404953999999998 + index / 7, -52.520006599999995 / (index + 1), 1e-7 / (index + 1)],
  })
  const body = {
    type: 'FeatureCollection',
    features: Array.from({ length: 1_000 }, (_, index) => place(index)),
  }
  const text = JSON.stringify(body).replace('{', '{"version":9007199254740993,')
  const { digits } = digitsOfBody(JSON.parse(text), text, () => t.fail('it is parsed again'))
  t.strictSame(digits, { integers: new Map([[2 ** 53, 9007199254740993n]]) })
})

t.test('what a hook of the app has put into the body stays', async (t) => {
  if (plan === null) throw new Error('there is nothing declared')
  const text = '[{"id":9007199254740993,"n":1}]'
  const changed = [{ id: 7, n: 1 }]
  const { value, digits } = digitsOfBody(changed, text, JSON.parse)
  const { value: read, found } = readWide(plan, value, digits)
  t.strictSame(applyWide(plan, read, found).value, [{ id: 7n, n: 1 }])
})
