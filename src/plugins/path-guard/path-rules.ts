import { isPlural } from '../../words/plurals.js'
import { mendedRoute } from './path-mend.js'
import { actionFaultOf, type RouteReading, readRoute } from './path-reading.js'
import { type PathRule, pathRuleNames } from './path-rule-names.js'
import type { ReadSegment } from './path-segments.js'
import { hasUnderscore, hasUppercase, needsEncoding } from './path-text.js'
import { lastWord, type PathVocabulary } from './path-words.js'

export { type PathRule, pathRuleNames } from './path-rule-names.js'
export { knownVerbs, type PathVocabulary } from './path-words.js'

/** How a route breaks a rule, and what to write instead. */
export interface PathBreach {
  readonly rule: PathRule
  readonly problem: string
  /** A path that keeps every rule in force, the same for all breaches of a route; with a method where that counts. */
  readonly instead: string
}

type Problem = (reading: RouteReading) => string | null

const problemOf: Readonly<Record<PathRule, Problem>> = {
  uppercase: literalProblem(hasUppercase, 'has uppercase letters', 'have uppercase letters'),
  underscore: literalProblem(hasUnderscore, 'joins words by an underscore', 'join words by an underscore'),
  encoding: encodingProblem,
  plural: pluralProblem,
  words: wordsProblem,
  version: versionProblem,
  action: actionProblem,
  slash: slashProblem,
}

// One word mended can make another of what stands around it, such as a method: mostly once is enough.
const mostRounds = 4

/**
 * Holds a route against every rule; at most one breach per rule.
 *
 * @param inForce the rules that `instead` keeps; what only another rule finds wrong is left in it
 */
export function pathBreaches(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath = '',
  inForce: readonly PathRule[] = pathRuleNames,
): PathBreach[] {
  // RFC 8615: the names below are registered, not chosen.
  if (pattern.startsWith('/.well-known/')) return []
  const reading = readRoute(methods, pattern, vocabulary, basePath)
  const broken = pathRuleNames.flatMap((rule) => {
    const problem = problemOf[rule](reading)
    return problem === null ? [] : [{ rule, problem }]
  })
  if (broken.length === 0) return []
  const instead = insteadOf(reading, vocabulary, basePath, new Set(inForce))
  return broken.map((breach) => ({ ...breach, instead }))
}

function insteadOf(
  reading: RouteReading,
  vocabulary: PathVocabulary,
  basePath: string,
  inForce: ReadonlySet<PathRule>,
): string {
  let current = reading
  let method: string | null = null
  for (let round = 0; round < mostRounds; round++) {
    const mended = mendedRoute(current, vocabulary, basePath, inForce)
    method = mended.method ?? method
    current = readRoute(method === null ? reading.methods : [method], mended.pattern, vocabulary, basePath)
    if (keepsRules(current, inForce)) break
  }
  return method === null ? current.pattern : `${method} ${current.pattern}`
}

function keepsRules(reading: RouteReading, inForce: ReadonlySet<PathRule>): boolean {
  return pathRuleNames.every((rule) => !inForce.has(rule) || problemOf[rule](reading) === null)
}

function literalProblem(isFaulty: (text: string) => boolean, one: string, many: string): Problem {
  return ({ segments }) =>
    said(
      segments.filter((read) => hasLiteral(read, isFaulty)),
      one,
      many,
    )
}

function encodingProblem({ segments }: RouteReading): string | null {
  const broken = segments.filter((read) =>
    read.segment.kind === 'literal' ? needsEncoding(read.segment.text) : hasLiteral(read, needsEncoding),
  )
  return said(broken, 'has characters that need encoding', 'have characters that need encoding')
}

function pluralProblem({ names }: RouteReading): string | null {
  const singular = names.filter(
    ({ isCollection, crud, noun }) => isCollection && crud.length === 0 && !isPlural(lastWord(noun)),
  )
  return said(
    singular.map(({ read }) => read),
    'names a collection in the singular',
    'name collections in the singular',
  )
}

function wordsProblem({ names }: RouteReading): string | null {
  const redundant = names.filter(({ crud }) => crud.length > 0)
  return said(
    redundant.map(({ read }) => read),
    'says what the method says',
    'say what the method says',
  )
}

function versionProblem({ version }: RouteReading): string | null {
  return version.isRight ? null : 'has no major version in front'
}

function actionProblem(reading: RouteReading): string | null {
  const fault = actionFaultOf(reading)
  if (fault === null) return null
  const verb = `the verb ${quoted(fault.verb.read)}`
  return fault.wrongMethods.length === 0
    ? `${verb} is not the last segment`
    : `${verb} is reached by ${fault.wrongMethods.join(', ')}; an action is a POST`
}

function slashProblem({ pattern, segments }: RouteReading): string | null {
  if (pattern === '/' || !segments.some(({ segment }) => segment.text === '')) return null
  return segments.at(-1)?.segment.text === '' ? 'ends in a slash' : 'has a doubled slash'
}

function hasLiteral({ parts }: ReadSegment, isFaulty: (text: string) => boolean): boolean {
  return parts.some(({ literal, text }) => literal && isFaulty(text))
}

function said(broken: readonly ReadSegment[], one: string, many: string): string | null {
  if (broken.length === 0) return null
  return `${broken.map(quoted).join(', ')} ${broken.length === 1 ? one : many}`
}

function quoted({ segment }: ReadSegment): string {
  return `'${segment.text}'`
}
