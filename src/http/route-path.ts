/** One segment of a route's path pattern. */
export interface PathSegment {
  /** `mixed` has a parameter and literal text, such as `:id.json`. */
  readonly kind: 'literal' | 'parameter' | 'mixed' | 'wildcard'
  /** As it stands in the pattern; for a literal with `::` undone. */
  readonly text: string
}

/**
 * Splits a path pattern in Fastify's notation (`:name`, `:name(regex)`, `:name?`, `*`, `::` for a colon) into its
 * segments. The empty segment before the first slash is left out; others that are empty (doubled or trailing
 * slash) are literals with no text.
 */
export function routePath(pattern: string): readonly PathSegment[] {
  return splitOutsideParentheses(pattern).map(segment)
}

function splitOutsideParentheses(pattern: string): string[] {
  const segments: string[] = []
  let depth = 0
  let text = ''
  for (const character of pattern.startsWith('/') ? pattern.slice(1) : pattern) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === '/' && depth === 0) {
      segments.push(text)
      text = ''
    } else {
      text += character
    }
  }
  return [...segments, text]
}

const parameterStart = /(?<!:):(?!:)/
const wholeParameter = /^:[^:().-]+(\(.*\))?\??$/

function segment(text: string): PathSegment {
  if (text === '*') return { kind: 'wildcard', text }
  if (wholeParameter.test(text)) return { kind: 'parameter', text }
  if (parameterStart.test(text.replaceAll('::', ''))) return { kind: 'mixed', text }
  return { kind: 'literal', text: text.replaceAll('::', ':') }
}
