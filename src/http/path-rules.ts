import pluralize from 'pluralize'
import { type PathSegment, routePath } from './route-path.js'

/** The rules that a route's path is held against; seed §4 "Path rules" 1–5 and §9. */
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

/** How a route breaks a rule, and what to write instead. */
export interface PathBreach {
  readonly rule: PathRule
  readonly problem: string
  readonly instead: string
}

/** Words of the domain that the rules must know. */
export interface PathVocabulary {
  /** Collection names that are right as they are, whatever the plural rule thinks. */
  readonly collections: ReadonlySet<string>
  /** Verbs of actions. */
  readonly verbs: ReadonlySet<string>
  /** Segments that stand for the caller's own record, such as `me`. */
  readonly selfAliases: ReadonlySet<string>
}

/** A route as the rules see it. */
export interface RouteShape {
  readonly methods: readonly string[]
  readonly pattern: string
  /** Segments after the base path. */
  readonly segments: readonly PathSegment[]
  readonly basePath: string
}

/**
 * Verbs that are known as actions without being declared. Words that are as often nouns (`export`, `search`,
 * `start`) are left out: a service that uses one as an action declares it.
 */
export const knownVerbs: readonly string[] = (
  'accept activate approve archive assign cancel capture confirm deactivate decline disable dismiss enable ' +
  'execute follow invite join login logout merge pause publish recalculate refresh refund regenerate reject ' +
  'renew reopen reprocess resend reset restore resume retry revoke rotate send submit subscribe suspend sync ' +
  'unarchive unassign unblock unfollow unlock unmute unpublish unsubscribe validate verify'
).split(' ')

/** Holds a route against every rule; at most one breach per rule. */
export function pathBreaches(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath = '',
): PathBreach[] {
  const route: RouteShape = {
    methods,
    pattern,
    segments: routePath(pattern.startsWith(`${basePath}/`) ? pattern.slice(basePath.length) : pattern),
    basePath,
  }
  return pathRuleNames.flatMap((rule) => {
    const breach = checks[rule](route, vocabulary)
    return breach === null ? [] : [{ rule, ...breach }]
  })
}

type RuleCheck = (route: RouteShape, vocabulary: PathVocabulary) => Omit<PathBreach, 'rule'> | null

const checks: Readonly<Record<PathRule, RuleCheck>> = {
  uppercase: literalRule(/[A-Z]/, 'has uppercase letters', kebab),
  underscore: literalRule(/_/, 'joins words by an underscore', (text) => text.replaceAll('_', '-')),
  // RFC 3986 §3.3: what is not a pchar needs encoding; uppercase and underscore have rules of their own.
  encoding: literalRule(/[^A-Za-z0-9\-._~!$&'()*+,;=:@]/, 'has characters that need encoding', (text) =>
    text.replace(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~]+/g, '-').replace(/^-+|-+$/g, ''),
  ),
  plural: checkPlural,
  words: checkWords,
  version: checkVersion,
  action: checkAction,
  slash: checkSlash,
}

function literalRule(fault: RegExp, what: string, mend: (text: string) => string): RuleCheck {
  return (route) => {
    const broken = route.segments.filter((segment) => segment.kind === 'literal' && fault.test(segment.text))
    if (broken.length === 0) return null
    return {
      problem: `${broken.map(quoted).join(', ')} ${what}`,
      instead: mended(route, (segment) => (broken.includes(segment) ? mend(segment.text) : segment.text)),
    }
  }
}

function checkPlural(route: RouteShape, vocabulary: PathVocabulary): Omit<PathBreach, 'rule'> | null {
  const segments = afterVersion(route.segments)
  const singular = segments.filter(
    (segment, index) =>
      isCollection(segments, index, vocabulary) &&
      !vocabulary.collections.has(segment.text) &&
      !vocabulary.verbs.has(segment.text) &&
      !isPlural(segment.text),
  )
  if (singular.length === 0) return null
  return {
    problem: `${singular.map(quoted).join(', ')} names a collection in the singular`,
    instead: mended(route, (segment) => (singular.includes(segment) ? plural(segment.text) : segment.text)),
  }
}

// A literal names a collection when an item of it is addressed next, or when it is all that the path has.
function isCollection(segments: readonly PathSegment[], index: number, vocabulary: PathVocabulary): boolean {
  const segment = segments[index]
  const next = segments[index + 1]
  if (segment?.kind !== 'literal' || segment.text === '' || vocabulary.selfAliases.has(segment.text))
    return false
  if (next === undefined) return index === 0
  return next.kind === 'parameter' || next.kind === 'mixed' || vocabulary.selfAliases.has(next.text)
}

// CRUD in the path says again what the method says already.
const crudWords = new Set('all create delete edit fetch get list new read retrieve show update'.split(' '))
const crudPrefix = /^(create|delete|fetch|get|list|retrieve|update)-/
const crudSuffix = /-list$/

function checkWords(route: RouteShape, vocabulary: PathVocabulary): Omit<PathBreach, 'rule'> | null {
  const isRedundant = ({ kind, text }: PathSegment): boolean => {
    const word = kebab(text)
    if (kind !== 'literal' || vocabulary.collections.has(text)) return false
    return crudWords.has(word) || crudPrefix.test(word) || crudSuffix.test(word)
  }
  const redundant = route.segments.filter(isRedundant)
  if (redundant.length === 0) return null
  return {
    problem: `${redundant.map(quoted).join(', ')} says what the method says`,
    instead: mended(route, (segment) =>
      redundant.includes(segment) ? withoutCrud(kebab(segment.text)) : segment.text,
    ),
  }
}

function withoutCrud(word: string): string | null {
  if (crudWords.has(word)) return null
  const noun = word.replace(crudPrefix, '').replace(crudSuffix, '')
  return isPlural(noun) ? noun : plural(noun)
}

const majorVersion = /^v(0|[1-9][0-9]*)$/i

function checkVersion(route: RouteShape): Omit<PathBreach, 'rule'> | null {
  if (majorVersion.test(route.segments[0]?.text ?? '')) return null
  const rest = mended(route, (segment) => segment.text).slice(route.basePath.length)
  return {
    problem: 'has no major version in front',
    instead: `${route.basePath}/v1${rest === '/' ? '' : rest}`,
  }
}

function checkAction(route: RouteShape, vocabulary: PathVocabulary): Omit<PathBreach, 'rule'> | null {
  const segments = afterVersion(route.segments)
  const at = segments.findIndex(({ kind, text }) => kind === 'literal' && isVerb(text, vocabulary))
  const verb = segments[at]
  if (verb === undefined) return null
  const wrongMethods = route.methods.filter((method) => method !== 'POST' && method !== 'OPTIONS')
  if (at === segments.length - 1 && wrongMethods.length === 0) return null
  const order = [...route.segments.filter((segment) => segment !== verb), verb]
  return {
    problem:
      wrongMethods.length === 0
        ? `the verb ${quoted(verb)} is not the last segment`
        : `the verb ${quoted(verb)} is reached by ${wrongMethods.join(', ')}; an action is a POST`,
    instead: `POST ${route.basePath}/${order.map((segment) => segment.text).join('/')}`,
  }
}

function isVerb(text: string, vocabulary: PathVocabulary): boolean {
  if (vocabulary.collections.has(text)) return false
  return vocabulary.verbs.has(text) || vocabulary.verbs.has(kebab(text).split('-')[0] ?? '')
}

function checkSlash(route: RouteShape): Omit<PathBreach, 'rule'> | null {
  if (route.pattern === '/' || !route.segments.some((segment) => segment.text === '')) return null
  return {
    problem: route.pattern.endsWith('/') ? 'ends in a slash' : 'has a doubled slash',
    instead: mended(route, (segment) => (segment.text === '' ? null : segment.text)),
  }
}

function afterVersion(segments: readonly PathSegment[]): readonly PathSegment[] {
  return majorVersion.test(segments[0]?.text ?? '') ? segments.slice(1) : segments
}

function mended(route: RouteShape, mend: (segment: PathSegment) => string | null): string {
  const texts = route.segments.map(mend).filter((text) => text !== null)
  return `${route.basePath}/${texts.join('/')}`
}

function kebab(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
}

function isPlural(text: string): boolean {
  return pluralize.isPlural(lastWord(text))
}

function plural(text: string): string {
  const word = lastWord(text)
  return text.slice(0, text.length - word.length) + pluralize.plural(word)
}

function lastWord(text: string): string {
  return text.slice(Math.max(text.lastIndexOf('-'), text.lastIndexOf('_')) + 1)
}

function quoted(segment: PathSegment): string {
  return `'${segment.text}'`
}
