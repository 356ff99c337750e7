import type { SegmentPart } from '../../http/url.js'
import type { Mode } from '../../report/modes.js'
import { isPlural, plural } from '../../words/words.js'
import {
  corrected,
  crudMethod,
  crudNameOf,
  kebab,
  lastWord,
  type PathVocabulary,
  type TextRule,
  textRules,
  verbKind,
} from './path-words.js'
import {
  areOfAction,
  isCollectionName,
  isItem,
  isOnlyCrud,
  type PathName,
  type ReadRoute,
  type ReadSegment,
  readRoute,
} from './read-route.js'

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

/**
 * Returns the breaches of a route.
 *
 * @param applies whether a rule is one of the route; one that is not is not corrected either
 */
export function pathBreaches(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath = '',
  applies: Applies = () => true,
): PathBreach[] {
  const read = (ofMethods: readonly string[], path: string) => {
    const route = readRoute(ofMethods, path, vocabulary, basePath)
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
  readonly modeOf: Readonly<Record<PathRule, Mode>>
}

/** Returns the breaches of all routes, with one suggestion if no route has a version. */
export function breachesOfAll<Route extends RuledPath>(
  routes: readonly Route[],
  vocabulary: PathVocabulary,
  basePath: string,
): { readonly route: Route; readonly breaches: readonly PathBreach[] }[] {
  const checked = routes.map((route) => {
    const { methods, path, modeOf } = route
    const applies: Applies = (rule) => modeOf[rule] !== 'off'
    return { route, breaches: pathBreaches(methods, path, vocabulary, basePath, applies) }
  })
  const isUnversioned = ({ problem }: PathBreach) => problem === noVersion
  const unversioned = checked.filter(({ breaches }) => breaches.some(isUnversioned))
  const hasVersions = routes.some(({ path }) => /^\/v[0-9]+(?:\/|$)/.test(path.slice(basePath.length)))
  if (unversioned.length < 2 || hasVersions) return checked
  const instead = `register the routes with prefix: '${basePath}/v1', or set pathGuard: { rules: { version: 'off' } }`
  return checked.map(({ route, breaches }) => ({
    route,
    breaches: breaches.map((breach) => (isUnversioned(breach) ? { ...breach, instead } : breach)),
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

const anyCollection = 'items'

interface Piece {
  readonly text: string
  /** The word in kebab-case if the segment can name a collection; `null` for versions, parameters, verbs and aliases. */
  readonly noun: string | null
  readonly isItem?: boolean
}

/** Returns the path of a route without its breaches, and the method if it is another one. */
function correctedRoute(
  route: ReadRoute,
  broken: ReadonlyMap<string, unknown>,
  vocabulary: PathVocabulary,
  wholeBase: string,
): { readonly method: string | null; readonly path: string } {
  const { methods, segments, base, version, names } = route
  const nameOf = new Map(names.map((name) => [name.read, name]))
  const isMoved = broken.has('version') && !version.isRight
  const basePath = isMoved ? wholeBase : route.basePath
  const pieces: Piece[] = []
  const verbs: string[] = []
  const addNoun = (noun: string): void => void pieces.push({ text: noun.replaceAll(':', '::'), noun })

  /** Whether the last noun in front is the same: `users` for `user`, with or without an item between them. */
  function isNamedBefore(noun: string): boolean {
    const last = pieces.findLast((piece) => piece.isItem !== true)?.noun
    return typeof last === 'string' && inPlural(last) === inPlural(noun)
  }

  /** Adds a collection for a parameter that would have none: `orders` for `:orderId`. */
  function addCollection(item: ReadSegment | undefined): void {
    if (item === undefined || !isItem(item) || typeof pieces.at(-1)?.noun === 'string') return
    const [, parameter = ''] = /^[:{<](\w+)/.exec(item.text) ?? []
    const noun = kebab(parameter).replace(/(?:^|-)(?:uu)?id$/, '')
    addNoun(isCollectionName(noun) ? inPlural(noun) : anyCollection)
  }

  for (const [index, read] of segments.entries()) {
    if (read.text === '' && broken.has('slash')) continue
    if (isMoved && read === version.read) continue
    const name = nameOf.get(read)
    const next = segments[index + 1]
    if (name?.isVerb === true && broken.has('action')) {
      const object = isItem(next) ? objectOf(read.word, methods, vocabulary) : null
      verbs.push(object === null ? read.word : read.word.slice(0, -object.length - 1))
      if (object !== null && !isNamedBefore(object)) addNoun(inPlural(object))
      else addCollection(next)
    } else if (name !== undefined && name.crud.length > 0 && broken.has('words')) {
      if (isOnlyCrud(name) || isNamedBefore(name.noun)) addCollection(next)
      else addNoun(name.isCollection ? inPlural(name.noun) : name.noun)
    } else {
      const text = textOf(read, (rule) => broken.has(rule))
      // Nothing is left of a literal that has no letters and digits.
      if (text === '' && read.text !== '') continue
      const isInPlural = name?.isCollection === true && name.crud.length === 0 && broken.has('plural')
      const isNoun = read.kind === 'literal' && name?.isVerb === false && isCollectionName(read.word)
      const isAlias = vocabulary.selfAliases.has(read.word) || vocabulary.selfAliases.has(read.text)
      const noun = isNoun && !isAlias ? read.word : null
      pieces.push({ text: isInPlural ? inPlural(text) : text, noun, isItem: isItem(read) })
    }
  }
  const texts = pieces.map(({ text }) => text)
  if (isMoved) texts.splice(base.split('/').length - 1, 0, `v${version.major}`)
  if (broken.has('action')) {
    const end = texts.findLastIndex((text) => text !== '' && !text.endsWith('*')) + 1
    texts.splice(end, 0, verbOf(verbs, methods, vocabulary))
    return { method: 'POST', path: written(basePath, texts) }
  }
  // A verb names the action, also beside a CRUD word.
  const hasVerb = names.some(({ isVerb }) => isVerb)
  const crud = names.flatMap((name) => name.crud)
  const method = hasVerb || !broken.has('words') ? null : crudMethod(crud, methods)
  return { method, path: written(basePath, texts) }
}

/** Returns the object of a verb in front of an item: `order` of `cancel-order`. */
function objectOf(word: string, methods: readonly string[], { verbs }: PathVocabulary): string | null {
  const object = word.slice(word.indexOf('-') + 1)
  if (object === word || verbs.has(word) || !isCollectionName(object)) return null
  return crudNameOf(object, true, methods) === null && verbKind(object, verbs) === null ? object : null
}

/** Returns one verb for all those of a path: the last one, with the others as its object (`confirm-cancel`). */
function verbOf(verbs: readonly string[], methods: readonly string[], vocabulary: PathVocabulary): string {
  const [last = '', ...others] = new Set(verbs.toReversed())
  if (others.length > 0) return [last, ...others].join('-')
  // DELETE undoes the action: `unfollow` for `follow`.
  const isUndone = methods.includes('DELETE') && methods.every((one) => /^(?:DELETE|OPTIONS)$/.test(one))
  return isUndone && vocabulary.verbs.has(`un${last}`) ? `un${last}` : last
}

function inPlural(text: string): string {
  const word = kebab(text)
  const last = lastWord(word)
  if (!isCollectionName(word) || isPlural(last)) return text
  // The text may have faults whose rules are off, so its end may differ from the word.
  return text.endsWith(last) ? `${text.slice(0, -last.length)}${plural(last)}` : `${text}s`
}

/** Returns a segment without the faults of its literals, and with parameters in the router's notation. */
function textOf({ kind, parts }: ReadSegment, rules: (rule: TextRule) => boolean): string {
  const texts = parts.map(({ literal, text }) => {
    if (!literal) return rules('encoding') ? text.replace(/^[{<](\w+)[}>]$/, ':$1') : text
    const result = corrected(text, rules, kind === 'literal')
    // Letters of other scripts have no plain text.
    const isLost = !/[A-Za-z0-9]/.test(result) && kind === 'literal' && /\p{L}/u.test(text)
    return (isLost && rules('encoding') ? anyCollection : result).replaceAll(':', '::')
  })
  return texts.join('')
}

function written(basePath: string, texts: readonly string[]): string {
  const last = texts.length - 1
  const path = texts
    // The router takes optional parameters only at the end.
    .map((text, index) => `/${/^:[^:]/.test(text) && index < last ? text.replace(/\?$/, '') : text}`)
    .join('')
  return `${basePath}${path}` || '/'
}
