/** The laws of selections, of random schemas, payloads and selections. */
import fc from 'fast-check'
import t from 'tap'
import type { Write } from '../../../src/json/object-writer.js'
import { fieldsOf } from '../../../src/json/selection.js'
import { writerCompiler } from '../../../src/json/writer.js'
import { type Select, selecting } from '../../../src/plugins/fields/hooks.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import type { Shape } from '../../../src/schema/shape.js'
import { shapeOf } from '../../../src/schema/shape-reader.js'
import { compileSerializer } from '../../schema/compiled.js'
import { narrowed, parseExact, pathsOf, writeExact } from '../../schema/exact-tree.js'
import { anySample } from '../../schema/random-schemas.js'

const bounds = { maxNames: 1000, maxLength: 100_000, maxDepth: 100 }

type Route = ReturnType<typeof routeOf>

t.test('a projection is the selected part of the full response: same values, same order', async () => {
  for (const open of [false, true])
    holds({ choices: false, open }, (route, paths) => {
      return route.ask(paths) === writeExact(narrowed(route.full, fieldsOf(paths)))
    })
})

t.test('a name that is not in the schema is refused, with any other names', async () => {
  holds({ choices: true }, (route, paths) => {
    const inner = route.paths[0] ?? 'root'
    const within = [`${inner}.nope`, 'root.constructor', `${inner}.__proto__`]
    const among = ['nope', '__proto__'].map((unknown) => [...paths, unknown])
    return [...within.map((unknown) => [unknown]), ...among].every((asked) => route.ask(asked) === null)
  })
})

t.test('hidden fields are never sent; selecting them or fields below them is refused', async () => {
  // Of maps and of alternatives, not each path is known in advance.
  for (const isOpen of [false, true]) {
    holds({ choices: isOpen, open: isOpen }, (route, paths, hides) => {
      const hidden = hides.filter((path) => path !== 'root' && !path.endsWith('_str')).slice(0, 3)
      const isHidden = (path: string): boolean => hidden.some((one) => isWithin(path, one))
      const asks = isOpen ? [['*']] : [paths, ['*'], ['root'], [...paths, '*']]
      return asks.every((asked) => {
        const json = route.ask(asked, hidden)
        if (asked.some(isHidden)) return json === null
        const shown = pathsOf(parseExact(json ?? '"refused"'))
        const wanted = asked.includes('*') ? route.full : narrowed(route.full, fieldsOf(asked))
        const left = pathsOf(wanted).filter((path) => !isHidden(path))
        return shown.join('\n') === left.join('\n')
      })
    })
  }
})

function isWithin(path: string, hidden: string): boolean {
  return path === hidden || path === `${hidden}_str` || path.startsWith(`${hidden}.`)
}

type Law = (route: Route, some: readonly string[], others: readonly string[]) => boolean

function holds({ choices, open = false }: { readonly choices: boolean; readonly open?: boolean }, law: Law) {
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 4 })
  const samples = anySample({ choices, wide: 'declared', open })
  const property = fc.property(samples, picks, picks, ({ schema, shared, payloads }, some, others) => {
    const shape = shapeOf(schema, shared, { compile: compileSerializer })
    const write = writerCompiler(true, compileSerializer).writerOf(shape)
    const selector = selecting({ shape, within: [] }, null, bounds)
    return payloads.every(({ given }) => {
      const route = routeOf(write, shape, selector, given)
      const picked = (indexes: readonly number[]): string[] =>
        indexes.flatMap((index) => route.paths[index % route.paths.length] ?? [])
      return law(route, picked(some), picked(others))
    })
  })
  fc.assert(property, { numRuns: 100 })
}

/** The answers of one route to one payload. */
function routeOf(write: Write, shape: Shape, selector: Select, given: unknown) {
  const full = parseExact(write(given))
  return {
    /** The answer to those who ask for nothing, and all dot paths of it. */
    full,
    paths: pathsOf(full),
    /** The bytes of the answer; `null` where the selection is refused. */
    ask(paths: readonly string[], hidden: readonly string[] = []): string | null {
      const selection = selector([paths.join()], hidden)
      if (selection === null) return write(given)
      return selection instanceof ProblemError ? null : write(given, selection.of(shape, 200))
    },
  }
}
