/** Decisions.md §3 "fields": what is left of an answer, and of each of its members. */
import t from 'tap'
import { cutOf, isHidden, whole } from '../../src/json/field-cut.js'
import { type FieldTree, fieldPaths, fieldTree } from '../../src/json/field-tree.js'

const tree = (paths: readonly string[] | null): FieldTree | null => (paths === null ? null : fieldTree(paths))
const paths = (one: FieldTree | null): string[] | null => (one === null ? null : fieldPaths(one))

t.test('what is left of a member: all, a part, or nothing', async (t) => {
  type Paths = readonly string[] | null
  const rows: readonly (readonly [
    only: Paths,
    without: Paths,
    left: 'whole' | readonly [Paths, Paths] | null,
  ])[] = [
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
    const cut = cutOf({ only: tree(only), without: tree(without) }, 'a')
    const label = `${only} without ${without}`
    if (left === 'whole') t.equal(cut, whole, label)
    else t.strictSame(cut === null ? null : [paths(cut.only), paths(cut.without)], left, label)
  }
})

t.test('another name asks for a member too, but shows nothing that is hidden', async (t) => {
  t.equal(cutOf({ only: fieldTree(['id_str']), without: null }, 'id', 'id_str'), whole)
  t.equal(cutOf({ only: fieldTree(['id_str']), without: fieldTree(['id']) }, 'id', 'id_str'), null)
})

t.test('hidden is a field by its name, and what is in it', async (t) => {
  const without = fieldTree(['a', 'b.c', '__proto__'])
  for (const path of ['a', 'a.x', 'b.c', 'b.c.d', '__proto__'])
    t.equal(isHidden(without, path.split('.')), true, path)
  for (const path of ['b', 'b.x', 'c', 'x.a', 'constructor'])
    t.equal(isHidden(without, path.split('.')), false, path)
  t.equal(isHidden(null, ['a']), false)
})
