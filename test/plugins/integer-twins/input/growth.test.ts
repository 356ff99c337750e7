/** A small request does not stop the server: what reads client text takes time in proportion to it. */
import t from 'tap'
import { hasLongDigits, quoteLongNumbers } from '../../../../src/json/exact-json.js'
import { putIntegers, takeTwins } from '../../../../src/plugins/integer-twins/input.js'
import { compileConditions, loadAjv } from '../../../../src/schema/alternatives.js'
import { shapeOf } from '../../../../src/schema/shape-reader.js'
import { superlinearSeeds } from '../../../support/growth.js'

/** Of text: repeated, they once made a scanner go back, or are what JSON is made of. */
const seeds = [
  ...[
    '1111111111111111.',
    '1111111111111111',
    '-1111111111111111',
    '0.9999999999999999',
    '1111111111111111 ',
  ],
  ...['          1111111111111111', '1e', '1111111111111111e1', '1e30,', '9007199254740993,'],
  ...['13.404953999999998,', '\\\\', '\\"', '":1111111111111111,', 'x', '['],
]

const int64 = { type: 'integer', format: 'int64' }
const properties = {
  id: int64,
  ids: { type: 'array', items: int64 },
  set: { type: 'array', items: int64, uniqueItems: true },
  either: { anyOf: [int64, { type: 'string', format: 'uuid' }, { type: 'string' }] },
  map: { type: 'object', additionalProperties: { type: 'array', items: int64 } },
}
await loadAjv()
const shape = shapeOf({ type: 'object', properties }, {}, { compile: compileConditions })

t.test('a text is scanned in linear time, also if it is not JSON', async (t) => {
  for (const [before, after] of [
    ['9007199254740993,', ''],
    ['{"note":"9007199254740993', '"}'],
    ['[', '9007199254740993]'],
  ]) {
    const scan = (input: string): unknown => quoteLongNumbers(before + input + after)
    t.strictSame(await superlinearSeeds(seeds, scan), [], `${before}…${after}`)
  }
})

/** Bodies with a hole for a repeated seed. */
const bodies: readonly (readonly [before: string, seed: string, after: string])[] = [
  ['{"note":"', '1111111111111111.', '"}'],
  ['{"note":"', '\\\\', '9007199254740993"}'],
  ['{"note":"9007199254740993', '\\"', '"}'],
  ['{"id":', '9', '}'],
  ['{"id_str":"', '9', '"}'],
  ['{"either":"', '9', '"}'],
  ['{"either":', '9', '}'],
  ['{"ids":[', '9007199254740993,', '1]}'],
  ['{"ids":[', '9007199254740993,9007199254740992,', '1]}'],
  ['{"set":[', '9007199254740993,', '1]}'],
  ['{"ids":[', '1e30,', '1]}'],
  ['{"map":{"', 'k', `":[${'1e30,'.repeat(60)}1]}}`],
]

t.test('a body is read in linear time', async (t) => {
  for (const [before, seed, after] of bodies) {
    t.strictSame(await superlinearSeeds([seed], (input) => read(before + input + after)), [], before)
  }
  const neighbours = (text: string): unknown => read(`{"set":[${text.split('').map(neighbour)}]}`)
  t.strictSame(await superlinearSeeds(['x'], neighbours), [], 'neighbours that have to differ')
  const names = (text: string): unknown => read(`{"map":{${text.split('').map(pair)}}}`)
  t.strictSame(await superlinearSeeds(['x'], names), [], 'names with twins')
})

function read(text: string): unknown {
  const written: unknown = hasLongDigits(text) ? JSON.parse(quoteLongNumbers(text)) : undefined
  const input = {
    part: 'body',
    shape,
    written,
    isOfTexts: false,
    standIns: new Map<string, number>(),
  } as const
  const holder = { value: JSON.parse(text) as unknown }
  for (const change of takeTwins(input, holder, 'value').changes) change()
  for (const change of putIntegers(input, holder, 'value').changes) change()
  return holder.value
}

function neighbour(_: string, index: number): bigint {
  return 2n ** 60n + BigInt(index)
}

function pair(_: string, name: number): string {
  return `"${name}":[1],"${name}_str":["1"]`
}
