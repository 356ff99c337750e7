import { isOnlyIn, type KeyStyle } from '../../words/key-names.js'
import type { ResponseBreach } from './response-rules.js'
import type { SchemaVerdict } from './schema-breaches.js'
import type { SuccessSchema } from './success-schemas.js'

/** What there is to say of the response schemas of a route. */
export interface RouteVerdict {
  /** The breaches, each with the statuses that it concerns. */
  readonly breaches: readonly ResponseBreach[]
  /** Why schemas were not checked. */
  readonly unresolved: readonly string[]
}

/** Returns the breaches of a route: one for all its responses that have it in common. */
export function routeBreaches(
  judged: readonly SuccessSchema[],
  verdictOf: (schema: SuccessSchema['schema']) => SchemaVerdict,
): RouteVerdict {
  const found = new Map<string, ResponseBreach & { readonly statuses: Set<string> }>()
  const notResolved: string[] = []
  for (const { status, schema } of judged) {
    const { breaches, unresolved } = verdictOf(schema)
    for (const ref of unresolved) notResolved.push(`${status}: $ref ${ref} cannot be resolved`)
    for (const breach of breaches) {
      const key = `${breach.rule} ${breach.problem}`
      const known = found.get(key)
      if (known === undefined) found.set(key, { ...breach, statuses: new Set([status]) })
      else known.statuses.add(status)
    }
  }
  const breaches = [...found.values()].map(({ statuses, ...breach }) => ({
    ...breach,
    problem: `${[...statuses].join(', ')}: ${breach.problem}`,
  }))
  return { breaches, unresolved: notResolved }
}

/**
 * Returns the breaches of a route with one for all keys in the style of most keys of the API: one option corrects all keys of
 * all routes.
 *
 * @param styleOfAll returns that style; `null` if there is none
 */
export function withCommonStyle(
  breaches: readonly ResponseBreach[],
  styleOfAll: () => KeyStyle | null,
): readonly ResponseBreach[] {
  const isCommon = ({ key }: ResponseBreach): boolean => {
    const style = key === undefined ? null : styleOfAll()
    return style !== null && isOnlyIn(style, key ?? '')
  }
  const first = breaches.find(isCommon)
  if (first === undefined) return breaches
  const style = styleOfAll()
  const common = {
    rule: first.rule,
    problem: `most keys are in ${style}`,
    instead: `set keyStyle: '${style}'`,
  }
  return breaches.flatMap((breach) => (breach === first ? [common] : isCommon(breach) ? [] : [breach]))
}
