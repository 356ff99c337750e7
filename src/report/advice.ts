import type { TableRow } from './text-table.js'

/** The conventions whose routes can except single rules; the others can be turned off for a route. */
export const exceptsRules: ReadonlySet<string> = new Set([
  'caching',
  'pathGuard',
  'responseRules',
  'versions',
])

/** Returns how a route is excepted from a rule. */
export function exceptBy(plugin: string, rule: string): string {
  if (rule === 'registration') return `earlierRoutes of ${plugin}`
  if (plugin === 'conventions') return ''
  if (rule === 'decorators') return `${plugin}: false`
  return exceptsRules.has(plugin) ? `config.${plugin}.except: ['${rule}']` : `config.${plugin}: false`
}

/** Returns the page of a convention in this package, or of one of its rules that has a page of its own. */
export function pageOf(plugin: string, rule?: string): string {
  if (rule === 'decorators') return 'fastify-conventions/docs/decorators.md'
  const page =
    plugin === 'conventions' ? 'report' : plugin.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return `fastify-conventions/docs/${page}.md`
}

/** The header of {@link adviceRows}. */
export const adviceHeader = ['rule', 'except a route by', 'see, in fastify-conventions']

/** Returns how to except a route from each rule, and its page: once for each, however many rows it has. */
export function adviceRows(
  rows: readonly { readonly rule: string; readonly except: string; readonly page: string }[],
): TableRow[] {
  const rules = new Map(
    rows.map(({ rule, except, page }) => [rule, [rule, except, page.replace(/^[^/]+\//, '')]]),
  )
  return [...rules.values()].map((cells) => [cells])
}

/** Groups rows by a text, in the order of the first ones: those of a route, which are one row of a table. */
export function groupRows<Row>(rows: readonly Row[], textOf: (row: Row) => string): Row[][] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const text = textOf(row)
    const known = groups.get(text)
    if (known === undefined) groups.set(text, [row])
    else known.push(row)
  }
  return [...groups.values()]
}

const shownRoutes = 3

/** Joins the rows of one cause, which have everything but the route in common: the first has the routes of all. */
export function joinRows<Row extends { readonly route: string }>(
  rows: readonly Row[],
  causeOf: (row: Row) => readonly string[],
  shown = shownRoutes,
): Row[] {
  return groupRows(rows, (row) => JSON.stringify(causeOf(row))).flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const routes = [...new Set([first, ...others].map(({ route }) => route))]
    const more = routes.length - shown
    const named = routes.slice(0, shown).join(', ')
    return [{ ...first, route: more > 0 ? `${named} and ${more} more` : named }]
  })
}
