/** What the selections of a route are. */
import t from 'tap'
import type { RequestSelection } from '../../../src/convention/selection.js'
import { WriterCompiler } from '../../../src/json/writer.js'
import { fieldBounds as bounds, type Select, selecting } from '../../../src/plugins/fields/selection.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { shapeOf } from '../../../src/schema/shape-reader.js'
import { compileSerializer } from '../../schema/compiled.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const shape = shapeOf({
  type: 'object',
  properties: {
    id,
    name: text,
    secret: text,
    address: { type: 'object', properties: { city: text, zip: id, note: text } },
    tags: { type: 'array', items: { type: 'object', properties: { key: text, value: text } } },
  },
})
const compiler = new WriterCompiler(true, compileSerializer)
const write = compiler.writerOf(shape)
const value = {
  id: 9_007_199_254_740_993n,
  name: 'Ada',
  secret: 's',
  address: { city: 'London', zip: 5, note: 'n' },
  tags: [{ key: 'k', value: 'v' }],
}
const none: readonly string[] = []
const names = 'The fields are id, name, secret, address, tags'

t.test('the named fields are selected; no parameter and * select all', async (t) => {
  const selector = selecting({ shape, within: [] }, null)
  t.equal(selector(null, none), null)
  t.equal(selector(['*'], none), null)
  t.equal(selector(['name,*'], none), null)
  const rows: readonly (readonly [values: string[], json: string])[] = [
    [['name'], '{"name":"Ada"}'],
    [['tags.key, name'], '{"name":"Ada","tags":[{"key":"k"}]}'],
    [['name', 'id_str'], '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada"}'],
    [['address.zip', 'address.city'], '{"address":{"city":"London","zip":5,"zip_str":"5"}}'],
  ]
  for (const [values, json] of rows) t.equal(answer(selector, values), json, values.join('&'))
})

t.test('the default applies without the parameter only', async (t) => {
  const selector = selecting({ shape, within: [] }, ['name', 'address.zip_str'])
  t.equal(answer(selector, null), '{"name":"Ada","address":{"zip":5,"zip_str":"5"}}')
  t.equal(answer(selector, ['secret']), '{"secret":"s"}')
  t.equal(selector(['*'], none), null)
})

t.test('a refusal has the invalid names and the allowed ones', async (t) => {
  const selector = selecting({ shape, within: [] }, null)
  const rows: readonly (readonly [values: string[], detail: string, messages: string[]])[] = [
    [['nope'], `Not among the fields: nope. ${names}`, ["'nope' is not among the fields"]],
    [
      ['nope,name', 'address.nope'],
      `Not among the fields: nope, address.nope. ${names}`,
      ["'nope' is not among the fields", "'address.nope' is not among the fields"],
    ],
    [['*,nope'], `Not among the fields: nope. ${names}`, ["'nope' is not among the fields"]],
    [
      ['name.length'],
      `Not among the fields: name.length. ${names}`,
      ["'name.length' is not among the fields"],
    ],
    [['__proto__'], `Not among the fields: __proto__. ${names}`, ["'__proto__' is not among the fields"]],
    [[''], `fields has an empty name. ${names}`, ['has an empty name']],
    [['a.b.c.d.e'], `fields goes deeper than 4: a.b.c.d.e. ${names}`, ['goes deeper than 4: a.b.c.d.e']],
  ]
  for (const [values, detail, messages] of rows) {
    t.strictSame(refusal(selector, values), { detail, messages }, values.join('&'))
  }
})

t.test('a refusal is short, however many and long the names are', async (t) => {
  const selector = selecting({ shape, within: [] }, null, {
    maxNames: 10_000,
    maxLength: 100_000,
    maxDepth: 4,
  })
  const wrong = Array.from({ length: 900 }, (_, index) => `${index}${'x'.repeat(100)}`)
  const { detail, messages } = refusal(selector, [wrong.join()])
  t.equal(messages.length, 20)
  t.ok(messages.every((message) => message.length < 150))
  t.ok(detail.length < 3000)
  const inner = { type: 'object', properties: { id } }
  const levels = ['a', 'b', 'c', 'd', 'e', 'f']
  const wide = shapeOf({
    type: 'object',
    properties: Object.fromEntries(levels.map((name) => [name, inner])),
  })
  const unknown = levels.map((name) => `${name}.nope`).join()
  const { detail: ofLevels } = refusal(selecting({ shape: wide, within: [] }, null), [unknown])
  t.match(ofLevels, /f\.nope\. The fields of a are id$/)
})

t.test('hidden fields are not sent, whatever is selected', async (t) => {
  const selector = selecting({ shape, within: [] }, ['name', 'secret', 'address'])
  const hidden = ['secret', 'address.note', 'tags.value', 'id']
  const rows: readonly (readonly [values: string[] | null, json: string])[] = [
    [null, '{"name":"Ada","address":{"city":"London","zip":5,"zip_str":"5"}}'],
    [['*'], '{"name":"Ada","address":{"city":"London","zip":5,"zip_str":"5"},"tags":[{"key":"k"}]}'],
    [['*', 'name'], '{"name":"Ada","address":{"city":"London","zip":5,"zip_str":"5"},"tags":[{"key":"k"}]}'],
    [['tags'], '{"tags":[{"key":"k"}]}'],
    [['address,address.city'], '{"address":{"city":"London","zip":5,"zip_str":"5"}}'],
    [['address.zip_str'], '{"address":{"zip":5,"zip_str":"5"}}'],
  ]
  for (const [values, json] of rows) t.equal(answer(selector, values, hidden), json, String(values))
  t.match(refusal(selector, ['address.note'], hidden), { detail: / The fields of address are city, zip$/ })
  t.match(refusal(selector, ['tags.value'], hidden), { detail: / The fields of tags are key$/ })
  for (const asked of ['secret', 'id', 'id_str', 'secret.x', 'name,secret', '*,secret']) {
    t.match(refusal(selector, [asked], hidden), { detail: / The fields are name, address, tags$/ }, asked)
  }
})

t.test('a hidden field is refused like an unknown one', async (t) => {
  const selector = selecting({ shape, within: [] }, null)
  const hidden = ['secret', 'address.note']
  for (const [asked, unknown] of [
    ['secret', 'nope'],
    ['address.note', 'address.nope'],
    ['name,secret', 'name,nope'],
  ] as const) {
    const wrong = (path: string): string => path.replace('name,', '')
    const { detail, messages } = refusal(selector, [unknown], hidden)
    const like = (message: string): string => message.replace(wrong(unknown), wrong(asked))
    t.strictSame(
      refusal(selector, [asked], hidden),
      { detail: like(detail), messages: messages.map(like) },
      asked,
    )
  }
})

t.test('a field may be hidden from one request and not from another', async (t) => {
  const selector = selecting({ shape, within: [] }, null)
  for (let round = 0; round < 2; round++) {
    t.match(refusal(selector, ['secret'], ['secret']), {
      messages: ["'secret' is not among the fields"],
    })
    t.equal(answer(selector, ['secret']), '{"secret":"s"}')
    t.equal(answer(selector, ['secret'], ['name']), '{"secret":"s"}')
  }
})

t.test(
  'a selection has names in the order of the schema, and paths in the order of the parameter',
  async (t) => {
    const selector = selecting({ shape, within: [] }, null)
    const selection = selected(selector, ['tags.key,address.city', 'id_str,address.zip'])
    t.strictSame(selection.names, ['id', 'address', 'tags'])
    t.strictSame(selection.paths, ['tags.key', 'address.city', 'address.zip', 'id'])
    t.ok(Object.isFrozen(selection.names) && Object.isFrozen(selection.paths))
    for (const path of ['id', 'address', 'address.city', 'tags', 'tags.key', 'id.anything'])
      t.equal(selection.has(path), true, path)
    for (const path of ['name', 'address.note', 'tags.value', 'nope', '', 'constructor', '__proto__'])
      t.equal(selection.has(path), false, path)
  },
)

t.test('the latest hundred selections are cached', async (t) => {
  const selector = selecting({ shape, within: [] }, null)
  const first = selector(['name'], none)
  t.equal(selector(['name'], none), first)
  const spaces = (count: number): string[] => [`name${' '.repeat(count)}`]
  for (let count = 1; count < 100; count++) selector(spaces(count), none)
  t.equal(selector(['name'], none), first, 'the hundredth does not displace the first')
  selector(spaces(100), none)
  t.not(selector(['name'], none), first, 'the next one does')
})

t.test('the key of a cached selection is no longer than the parameter may be', async (t) => {
  for (const [maxLength, isKept] of [
    [20, true],
    [19, false],
  ] as const) {
    const selector = selecting({ shape, within: [] }, null, { ...bounds, maxLength })
    const hidden = ['secret', 'name']
    const first = selector(['id'], hidden)
    t.equal(first === selector(['id'], hidden), isKept, `${maxLength}`)
  }
})

function selected(selector: Select, values: readonly string[] | null, hidden = none): RequestSelection {
  const selection = selector(values, hidden)
  if (selection === null || selection instanceof ProblemError)
    throw new Error(`nothing selected: ${JSON.stringify(selection)}`)
  return selection
}

interface Refusal {
  readonly detail: string
  readonly messages: readonly string[]
}

function refusal(selector: Select, values: readonly string[], hidden = none): Refusal {
  const selection = selector(values, hidden)
  if (!(selection instanceof ProblemError)) throw new Error(`not refused: ${values.join('&')}`)
  const { errors = [] } = selection
  return { detail: selection.message, messages: errors.map(({ message }) => message) }
}

function answer(selector: Select, values: readonly string[] | null, hidden = none): string {
  return write(value, selected(selector, values, hidden).of(shape, 200))
}
