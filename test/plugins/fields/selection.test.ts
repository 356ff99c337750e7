/** What the selections of a route are. */
import t from 'tap'
import type { RequestSelection } from '../../../src/convention/selection.js'
import { WriterCompiler } from '../../../src/json/writer.js'
import { fieldBounds as bounds, type Select, selecting } from '../../../src/plugins/fields/hooks.js'
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

t.test('a field may be hidden from one request and not from another', async (t) => {
  const selector = selecting({ shape, within: [] }, null)
  for (let round = 0; round < 2; round++) {
    t.match(refusal(selector, ['secret'], ['secret']), { messages: ["'secret' is not among the fields"] })
    t.equal(answer(selector, ['secret']), '{"secret":"s"}')
    t.equal(answer(selector, ['secret'], ['name']), '{"secret":"s"}')
  }
})

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
