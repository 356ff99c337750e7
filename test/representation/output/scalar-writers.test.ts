/** Scalars are written as fast-json-stringify writes them under the same schema (decisions.md §10). */
import t, { type Test } from 'tap'
import {
  dateWriters,
  writeInteger,
  writeNumber,
  writeText,
} from '../../../src/representation/output/scalar-writers.js'
import type { Json } from '../../../src/representation/schema/schema-refs.js'
import { fastifyWriter } from '../compiled.js'

// The first year, and the first of five digits: days of which no clock was ever read.
const modern = [0, 1, 951_782_400_000, 1_582_934_399_999, 4_102_444_799_999]
const ancient = [-62_135_596_800_000, 253_402_300_800_000]
const objects = [new Date(0), /a"b/u, { toString: () => 'own "text"' }, ['a', 'b'], 12, true, 1n]

t.test('strings, also of what is none', async (t) => {
  sameAsFastify(t, { type: 'string' }, writeText, ['', 'a', 'a"\\\n\ud800', null, ...objects])
})

for (const format of ['date-time', 'date', 'time'] as const) {
  t.test(`${format}: Dates by the format, strings as they are, null as an empty string`, async (t) => {
    const moments = format === 'time' ? modern : [...modern, ...ancient]
    const dates = moments.map((moment) => new Date(moment))
    const zone = process.env.TZ
    t.teardown(() => restoreZone(zone))
    for (const TZ of ['UTC', 'Asia/Tokyo', 'America/St_Johns']) {
      process.env.TZ = TZ
      sameAsFastify(t, { type: 'string', format }, dateWriters[format], [...dates, 'as it is"', null])
    }
  })

  t.test(`${format}: what is no date is refused, without the value in the message`, async (t) => {
    for (const value of [0, true, {}, [], 1n]) {
      t.throws(() => dateWriters[format](value), { message: `a value of type ${typeof value} is no date` })
      t.throws(() => fastifyWriter({ type: 'string', format })(value), 'fast-json-stringify refuses it too')
    }
    t.throws(() => dateWriters[format](new Date(Number.NaN)), { name: 'RangeError' })
  })
}

t.test('integers: fractions are cut, as numeric strings and booleans are read', async (t) => {
  const values = [
    0,
    -0,
    1,
    -1,
    1.9,
    -1.9,
    2 ** 60,
    1e21,
    1n,
    -(2n ** 70n),
    '7',
    '7.9',
    '',
    true,
    null,
    new Date(5),
  ]
  sameAsFastify(t, { type: 'integer' }, writeInteger, values)
  for (const value of [Number.NaN, Infinity, -Infinity, 'secret', {}, undefined]) {
    t.throws(() => writeInteger(value), { message: `a value of type ${typeof value} is no integer` })
  }
})

t.test('numbers: Infinity is null, what is no number is refused', async (t) => {
  const values = [
    0,
    -0,
    1.5,
    1e21,
    1e-7,
    5e-324,
    Number.MAX_VALUE,
    Infinity,
    -Infinity,
    '7.5',
    '',
    true,
    null,
    5n,
  ]
  sameAsFastify(t, { type: 'number' }, writeNumber, values)
  for (const value of [Number.NaN, 'secret', {}, undefined]) {
    t.throws(() => writeNumber(value), { message: `a value of type ${typeof value} is no number` })
  }
})

t.test('a BigInt in a number keeps the digits that fast-json-stringify loses', async (t) => {
  t.equal(writeNumber(9_007_199_254_740_993n), '9007199254740993')
  t.equal(fastifyWriter({ type: 'number' })(9_007_199_254_740_993n), '9007199254740992')
})

function sameAsFastify(
  t: Test,
  schema: Json,
  write: (value: unknown) => string,
  values: readonly unknown[],
): void {
  const theirs = fastifyWriter(schema)
  values.forEach((value, index) => {
    t.equal(write(value), theirs(value), `value ${index} of type ${typeof value}`)
  })
}

function restoreZone(zone: string | undefined): void {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
}
