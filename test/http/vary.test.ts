/** RFC 9110 §12.5.5: `Vary`, merged from several writers. */
import fc from 'fast-check'
import t from 'tap'
import { isFieldName, mergeVary, varyMerger } from '../../src/http/header-fields.js'

t.test(
  'RFC 9110 §12.5.5: names are merged without case and repeats, the first spelling and order kept',
  async (t) => {
    type Value = string | readonly string[]
    const rows: readonly (readonly [current: Value | undefined, names: Value, merged: string])[] = [
      [undefined, 'Origin', 'Origin'],
      [undefined, ['Origin', 'Accept'], 'Origin, Accept'],
      [undefined, 'Origin, Accept', 'Origin, Accept'],
      ['', 'Origin', 'Origin'],
      ['Origin', 'Accept-Encoding', 'Origin, Accept-Encoding'],
      ['Origin', 'origin', 'Origin'],
      ['origin', ['ORIGIN', 'accept', 'Accept'], 'origin, accept'],
      ['Origin,accept-encoding', 'Accept', 'Origin, accept-encoding, Accept'],
      [' Origin ,, Accept ,', 'Origin', 'Origin, Accept'],
      [['Origin', 'Accept, Origin'], ['accept', 'Cookie'], 'Origin, Accept, Cookie'],
      ['Origin', [], 'Origin'],
      [undefined, [], ''],
      [undefined, '', ''],
    ]
    for (const [current, names, merged] of rows) {
      t.equal(mergeVary(current, names), merged, `${JSON.stringify(current)} and ${JSON.stringify(names)}`)
    }
  },
)

t.test('RFC 9110 §12.5.5: * replaces all other names', async (t) => {
  t.equal(mergeVary(undefined, '*'), '*')
  t.equal(mergeVary('*', 'Origin'), '*')
  t.equal(mergeVary('Origin', '*'), '*')
  t.equal(mergeVary('Origin, *', 'Accept'), '*')
  t.equal(mergeVary(['Origin', '*'], ['Accept', '*']), '*')
  t.equal(mergeVary('*', []), '*')
})

t.test('RFC 9110 §5.1: an invalid field name is refused, whatever the Vary has', async (t) => {
  for (const name of ['Accept Encoding', 'Accept:', 'Ac"cept', 'Größe', 'a\r\nb', 'a;b', 'a(b)']) {
    t.equal(isFieldName(name), false, JSON.stringify(name))
    t.throws(() => mergeVary(undefined, name), TypeError, JSON.stringify(name))
    t.throws(() => mergeVary('*', ['Origin', name]), TypeError, JSON.stringify(name))
  }
  t.equal(isFieldName(''), false)
  t.equal(isFieldName("!#$%&'*+-.^_`|~09azAZ"), true)
  t.equal(mergeVary('what others wrote', 'Origin'), 'what others wrote, Origin')
})

t.test('a merger returns the same as mergeVary(), whatever was merged before', async (t) => {
  const merge = varyMerger(['Origin', 'accept'])
  for (const current of [undefined, 'Accept', 'Accept', 'cookie', undefined, '*', '', undefined])
    t.equal(merge(current), mergeVary(current, ['Origin', 'accept']), String(current))
})

const name = fc.constantFrom(
  'Origin',
  'origin',
  'ORIGIN',
  'Accept',
  'accept',
  'Accept-Encoding',
  'Cookie',
  'x',
  '*',
)
const names = fc.array(name, { maxLength: 6 })

t.test('merging again changes nothing', async () => {
  fc.assert(
    fc.property(names, names, (one, other) => {
      const merged = mergeVary(one, other)
      return (
        mergeVary(merged, other) === merged &&
        mergeVary(merged, one) === merged &&
        mergeVary(merged, merged) === merged
      )
    }),
  )
})

t.test('the result has the same names in both orders of merging', async () => {
  fc.assert(
    fc.property(names, names, (one, other) => asSet(mergeVary(one, other)) === asSet(mergeVary(other, one))),
  )
})

t.test('merging is associative', async () => {
  fc.assert(
    fc.property(names, names, names, (one, two, three) => {
      const left = mergeVary(mergeVary(one, two), three)
      const right = mergeVary(one, mergeVary(two, three))
      return left === right
    }),
  )
})

function asSet(vary: string): string {
  return vary.toLowerCase().split(', ').sort().join()
}
