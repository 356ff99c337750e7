/** RFC 9110 §12.5.5: `Vary`, merged from several writers. */
import t from 'tap'
import { isFieldName, mergeVary, varyMerger } from '../../src/http/header-fields.js'

t.test('RFC 9110 §12.5.5: names are merged without case and repeats, in the first order', async (t) => {
  type Value = string | readonly string[]
  const rows: readonly (readonly [current: Value | undefined, names: Value, merged: string])[] = [
    [undefined, ['Origin', 'Accept'], 'Origin, Accept'],
    [undefined, 'Origin, Accept', 'Origin, Accept'],
    ['', 'Origin', 'Origin'],
    ['origin', ['ORIGIN', 'accept', 'Accept'], 'origin, accept'],
    ['Origin,accept-encoding', 'Accept', 'Origin, accept-encoding, Accept'],
    [' Origin ,, Accept ,', 'Origin', 'Origin, Accept'],
    [['Origin', 'Accept, Origin'], ['accept', 'Cookie'], 'Origin, Accept, Cookie'],
    ['Origin', [], 'Origin'],
    [undefined, [], ''],
    [undefined, '', ''],
    // `*` replaces all other names.
    [undefined, '*', '*'],
    ['*', 'Origin', '*'],
    ['Origin', '*', '*'],
    ['Origin, *', 'Accept', '*'],
    [['Origin', '*'], ['Accept', '*'], '*'],
    ['*', [], '*'],
  ]
  for (const [current, names, merged] of rows)
    t.equal(mergeVary(current, names), merged, `${JSON.stringify(current)} and ${JSON.stringify(names)}`)
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
