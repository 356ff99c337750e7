/** How the parameter is read, and its bounds. */
import fc from 'fast-check'
import t from 'tap'
import {
  type FieldBounds,
  type Fields,
  fieldPaths,
  fieldsOf,
  isHidden,
  partOf,
  readFields,
  whole,
} from '../../src/json/selection.js'

const bounds: FieldBounds = { maxNames: 64, maxLength: 1024, maxDepth: 4 }

t.test('a parameter has its paths, each once, or one reason why it is invalid', async (t) => {
  const names = Array.from({ length: 64 }, (_, index) => `n${index}`)
  const long = ['a'.repeat(511), 'b'.repeat(512)]
  const rows: readonly (readonly [values: string[], read: string[] | string])[] = [
    [[' name , age ,age'], ['name', 'age']],
    [['address,address.city,*'], ['address', 'address.city', '*']],
    [['__proto__,constructor.prototype,a.b.c.d'], ['__proto__', 'constructor.prototype', 'a.b.c.d']],
    // As many as there may be, and as many characters with the comma that would join them.
    [names, names],
    [long, long],
    ...[[' '], ['a,'], ['a', '']].map((values): [string[], string] => [values, 'has an empty name']),
    ...['a.', 'a..b'].map((path): [string[], string] => [[path], `has '${path}'`]),
    [['a.b.c.d.e'], 'goes deeper than 4: a.b.c.d.e'],
    [Array<string>(65).fill('a'), 'has more than 64 names'],
    [[...long, ''], 'has more than 1024 characters'],
    [['.'.repeat(10_000)], 'has more than 1024 characters'],
  ]
  for (const [values, read] of rows) {
    const expected = typeof read === 'string' ? { message: read } : read
    t.strictSame(readFields(values, bounds), expected, values.join('&').slice(0, 50))
  }
})

t.test('any value: its paths, each once, within the limits, or one reason', async () => {
  const unit = fc.constantFrom('a', 'b', '.', ',', ' ', '*', 'é', '\u0000')
  const value = fc.string({ unit, maxLength: 40 })
  const small: FieldBounds = { maxNames: 5, maxLength: 30, maxDepth: 3 }
  const property = fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
    const read = readFields(values, small)
    if ('message' in read) return Object.keys(read).join() === 'message' && read.message !== ''
    const asked = values.flatMap((one) => one.split(',')).map((name) => name.trim())
    const isWithin = asked.every((path) => path.split('.').length <= small.maxDepth)
    return read.join() === [...new Set(asked)].join() && asked.length <= small.maxNames && isWithin
  })
  fc.assert(property, { numRuns: 1000 })
})

t.test('a path together with a path below it selects the whole, in both orders', async (t) => {
  for (const paths of ['a,a.b', 'a.b,a', 'a.b,a,a.c'])
    t.strictSame(fieldPaths(fieldsOf(paths.split(','))), ['a'], paths)
})

const tree = (paths: readonly string[] | null): Fields | null => (paths === null ? null : fieldsOf(paths))
const paths = (one: Fields | null): string[] | null => (one === null ? null : fieldPaths(one))

t.test('a selection leaves all, a part or nothing of a member', async (t) => {
  type Paths = readonly string[] | null
  type Left = 'whole' | readonly [Paths, Paths] | null
  const rows: readonly (readonly [only: Paths, without: Paths, left: Left])[] = [
    [null, null, 'whole'],
    [['a'], null, 'whole'],
    [['b'], null, null],
    [[], null, null],
    [['a.b', 'a.c.d'], null, [['b', 'c.d'], null]],
    [null, ['b'], 'whole'],
    [null, ['a'], null],
    [['a'], ['a'], null],
    [['a.b'], ['a'], null],
    [['b'], ['a.c'], null],
    [['a'], ['a.c'], [null, ['c']]],
    [null, ['a.c', 'b'], [null, ['c']]],
    [['a.b', 'a.c'], ['a.c'], [['b', 'c'], ['c']]],
  ]
  for (const [only, without, left] of rows) {
    const cut = partOf({ only: tree(only), without: tree(without) }, 'a')
    const label = `${only} without ${without}`
    if (left === 'whole') t.equal(cut, whole, label)
    else t.strictSame(cut === null ? null : [paths(cut.only), paths(cut.without)], left, label)
  }
})

t.test('a second name selects a member too, but does not show hidden fields', async (t) => {
  t.equal(partOf({ only: fieldsOf(['id_str']), without: null }, 'id', 'id_str'), whole)
  t.equal(partOf({ only: fieldsOf(['id_str']), without: fieldsOf(['id']) }, 'id', 'id_str'), null)
})

t.test('a hidden field hides all fields below it', async (t) => {
  const without = fieldsOf(['a', 'b.c', '__proto__'])
  for (const path of ['a', 'a.x', 'b.c', 'b.c.d', '__proto__'])
    t.equal(isHidden(without, path.split('.')), true, path)
  for (const path of ['b', 'b.x', 'c', 'x.a', 'constructor'])
    t.equal(isHidden(without, path.split('.')), false, path)
  t.equal(isHidden(null, ['a']), false)
})
