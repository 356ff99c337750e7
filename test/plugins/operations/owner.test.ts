import t from 'tap'
import { ownerText } from '../../../src/plugins/operations/owner.js'

t.test('an owner is an id as text; nobody is null', async (t) => {
  const rows: readonly (readonly [owner: unknown, kept: string | null])[] = [
    ['ann', 'ann'],
    ['0', '0'],
    [0, '0'],
    [42, '42'],
    [2n ** 63n, '9223372036854775808'],
    [null, null],
    [undefined, null],
  ]
  for (const [owner, kept] of rows) t.equal(ownerText(owner as string), kept)
})

t.test('what is no id is refused: by its text all callers would be one', async (t) => {
  for (const owner of [{}, [], '', Number.NaN, 1.5, 2 ** 53, true, () => 'ann', Symbol('ann')]) {
    t.throws(() => ownerText(owner as unknown as string), { name: 'TypeError', message: /is no id/ })
  }
})
