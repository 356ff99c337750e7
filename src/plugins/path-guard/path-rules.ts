import type { SegmentPart } from '../../http/url.js'
import { isPlural } from '../../words/words.js'
import { type TextRule, textRules } from './path-faults.js'
import { lastWord, type PathVocabulary } from './path-words.js'
import {
  areOfAction,
  isOnlyCrud,
  type PathName,
  pathTo,
  type ReadRoute,
  type ReadSegment,
  readRoute,
} from './read-route.js'
import { correctedRoute } from './suggestion.js'

/** The rules for the path of a route, in the order of the report. */
export const pathRuleNames = [
  'uppercase',
  'underscore',
  'encoding',
  'plural',
  'words',
  'version',
  'action',
  'slash',
] as const

/** Name of a path rule. */
export type PathRule = (typeof pathRuleNames)[number]

export interface PathBreach {
  readonly rule: PathRule
  readonly problem: string
  /** The path with all breaches corrected; with a method if that changes, and for actions always. */
  readonly instead: string
}

type Applies = (rule: PathRule) => boolean

/** Returns what is wrong; `null` if the route keeps the rule. */
const problems: Readonly<Record<PathRule, (route: ReadRoute) => string | null>> = {
  uppercase: textProblem('uppercase', 'has uppercase letters', 'have uppercase letters'),
  underscore: textProblem('underscore', 'joins words with an underscore', 'join words with an underscore'),
  encoding: textProblem(
    'encoding',
    'has characters that need encoding',
    'have characters that need encoding',
  ),
  plural({ names }) {
    const broken = names.filter(isSingular).map(({ read }) => read)
    return problemOf(broken, 'names a collection in the singular', 'name collections in the singular')
  },
  words({ names }) {
    const broken = names.filter(({ crud }) => crud.length > 0)
    const reads = broken.map(({ read }) => read)
    return problemOf(reads, 'stands for a method', 'stand for a method')
  },
  version({ base, isUnversioned, version }) {
    if (isUnversioned || (version.isRight && base === '')) return null
    if (base === '') return noVersion
    return version.isRight ? `'${base}' is in front of the version` : `has no major version behind '${base}'`
  },
  action({ methods, names }) {
    const [verb, ...others] = names.filter(({ isVerb }) => isVerb)
    if (verb === undefined) return null
    const wrong = methods.filter((method) => !areOfAction([method]))
    if (wrong.length > 0)
      return `the verb ${quoted(verb.read)} is served for ${wrong.join(', ')}; an action is a POST`
    const last = names.findLast((name) => name.read.kind !== 'wildcard' && !isOnlyCrud(name))
    return verb === last && others.length === 0
      ? null
      : `the verb ${quoted(verb.read)} is not the last segment`
  },
  slash({ pattern, segments }) {
    if (pattern === '/' || !segments.some(({ text }) => text === '')) return null
    return segments.at(-1)?.text === '' ? 'ends in a slash' : 'has two slashes in a row'
  },
}

const noVersion = 'has no major version in front'
const none: ReadonlySet<string> = new Set()

/**
 * Returns the breaches of a route.
 *
 * @param applies whether a rule is one of the route; one that is not is not corrected either
 * @param collections paths that are those of collections on other routes
 */
export function pathBreaches(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath = '',
  applies: Applies = () => true,
  collections = none,
): PathBreach[] {
  const read = (ofMethods: readonly string[], path: string) => {
    const route = readRoute(ofMethods, path, vocabulary, basePath, collections)
    const broken = new Map<PathRule, string>()
    // RFC 8615: these names are registered, not chosen.
    if (path.startsWith('/.well-known/')) return { route, broken }
    for (const rule of pathRuleNames) {
      const problem = applies(rule) ? problems[rule](route) : null
      if (problem !== null) broken.set(rule, problem)
    }
    return { route, broken }
  }
  const found = read(methods, pattern)
  let path = pattern
  let method: string | null = null
  // A corrected path may break another rule: what is left of `/v1/_list` is `/v1/list`.
  for (let round = 0, { route, broken } = found; round < 4 && broken.size > 0; round++) {
    const next = correctedRoute(route, broken, vocabulary, basePath)
    path = next.path
    method = next.method ?? method
    ;({ route, broken } = read(method === null ? methods : [method], path))
  }
  const { base, version } = found.route
  const whole = method === null ? path : `${method} ${path}`
  const option = `basePath: '${base}'`
  return [...found.broken].map(([rule, problem]) => {
    if (rule !== 'version' || base === '') return { rule, problem, instead: whole }
    return { rule, problem, instead: version.isRight ? `set ${option}` : `${whole}, with ${option}` }
  })
}

interface RuledPath {
  readonly methods: readonly string[]
  readonly path: string
  readonly applies: Applies
}

/** Returns the breaches of all routes: with one name for each collection, and one suggestion if no route has a version. */
export function breachesOfAll<Route extends RuledPath>(
  routes: readonly Route[],
  vocabulary: PathVocabulary,
  basePath: string,
): (Route & { readonly breaches: readonly PathBreach[] })[] {
  // What else is below the path of a collection is below a collection.
  const collections = new Set(
    routes.flatMap(({ methods, path, applies }) => {
      if (!applies('plural')) return []
      const { names, segments, basePath: below } = readRoute(methods, path, vocabulary, basePath, none)
      return names.filter(isSingular).map(({ read }) => pathTo(segments, read, below))
    }),
  )
  const checked = routes.map((route) => {
    const { methods, path, applies } = route
    return { ...route, breaches: pathBreaches(methods, path, vocabulary, basePath, applies, collections) }
  })
  const isUnversioned = ({ problem }: PathBreach) => problem === noVersion
  const unversioned = checked.filter(({ breaches }) => breaches.some(isUnversioned))
  const hasVersions = routes.some(({ path }) => /^\/v[0-9]+(?:\/|$)/.test(path.slice(basePath.length)))
  if (unversioned.length < 2 || hasVersions) return checked
  const instead = `register the routes with prefix: '${basePath}/v1', or set pathGuard: { rules: { version: 'off' } }`
  return checked.map((route) => ({
    ...route,
    breaches: route.breaches.map((breach) => (isUnversioned(breach) ? { ...breach, instead } : breach)),
  }))
}

function textProblem(rule: TextRule, one: string, many: string) {
  const { isBroken } = textRules[rule]
  return ({ segments }: ReadRoute): string | null => {
    // A part such as `{id}` is meant as a parameter, and needs encoding.
    const isText = ({ literal, text }: SegmentPart) => literal || (rule === 'encoding' && /^[{<]/.test(text))
    const broken = segments.filter(({ parts }) => parts.some((part) => isText(part) && isBroken(part.text)))
    return problemOf(broken, one, many)
  }
}

function isSingular({ isCollection, crud, noun }: PathName): boolean {
  return isCollection && crud.length === 0 && !isPlural(lastWord(noun))
}

function problemOf(broken: readonly ReadSegment[], one: string, many: string): string | null {
  if (broken.length === 0) return null
  return `${broken.map(quoted).join(', ')} ${broken.length === 1 ? one : many}`
}

function quoted({ text }: ReadSegment): string {
  return `'${text}'`
}
