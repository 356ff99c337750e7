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

const shownRoutes = 3

/**
 * Joins the rows of one cause, which have everything but the route in common: the first has the routes of all.
 *
 * @param causeOf returns what rows of one cause have in common
 * @param shown how many routes are named
 */
export function joinRows<Row extends { readonly route: string }>(
  rows: readonly Row[],
  causeOf: (row: Row) => readonly string[],
  shown = shownRoutes,
): Row[] {
  const joined = new Map<string, Row[]>()
  for (const row of rows) {
    const cause = JSON.stringify(causeOf(row))
    const known = joined.get(cause)
    if (known === undefined) joined.set(cause, [row])
    else known.push(row)
  }
  return [...joined.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const routes = [...new Set([first, ...others].map(({ route }) => route))]
    const more = routes.length - shown
    const named = routes.slice(0, shown).join(', ')
    return [{ ...first, route: more > 0 ? `${named} and ${more} more` : named }]
  })
}
