import { isPlural, plural } from '../../words/plurals.js'
import {
  anyCollection,
  hyphenated,
  innerHyphens,
  innerPlainText,
  kebab,
  lowercase,
  needsEncoding,
  plainText,
} from './path-text.js'
import { crudMethod, crudNameOf, lastWord, oppositeOf, type PathVocabulary, verbKind } from './path-words.js'
import {
  isCollectionName,
  isItem,
  isOnlyCrud,
  type PathName,
  type ReadRoute,
  type ReadSegment,
} from './read-route.js'

export function suggestLowercase(route: ReadRoute): string {
  return withLiterals(route, lowercase, lowercase)
}

export function suggestHyphens(route: ReadRoute): string {
  return withLiterals(route, hyphenated, innerHyphens)
}

/** Suggests the path without characters that need encoding, and with parameters in the router's notation. */
export function suggestPlainText(route: ReadRoute): string {
  return withLiterals(
    route,
    (text) => (needsEncoding(text) ? plainText(text) : text),
    (text) => (needsEncoding(text) ? innerPlainText(text) : text),
    (parameter) => parameter.replace(/^[{<](\w+)[}>]$/, ':$1'),
  )
}

export function suggestPlurals(route: ReadRoute): string {
  const names = new Map(route.names.map((name) => [name.read, name]))
  const texts = route.segments.map((read) => {
    const name = names.get(read)
    return name?.isCollection === true && name.crud.length === 0 ? inPlural(textOf(read)) : textOf(read)
  })
  return written(route, texts)
}

/** Suggests the path without CRUD words, and the method that they stand for if it is another one. */
export function suggestWithoutCrud(route: ReadRoute, vocabulary: PathVocabulary): string {
  const names = new Map(route.names.map((name) => [name.read, name]))
  const pieces: Piece[] = []
  for (const [index, read] of route.segments.entries()) {
    const name = names.get(read)
    if (name === undefined || name.crud.length === 0) pieces.push(pieceOf(read, name, vocabulary))
    else if (!isOnlyCrud(name) && !isNamedBefore(pieces, name.noun)) {
      pieces.push(nounPiece(name.isCollection ? inPlural(name.noun) : name.noun))
    } else addCollection(pieces, route.segments[index + 1])
  }
  const crud = route.names.flatMap((name) => name.crud)
  // A verb names the action, also beside a CRUD word.
  const hasVerb = route.names.some(({ isVerb }) => isVerb)
  const method = hasVerb ? null : crudMethod(crud, route.methods)
  const path = written(route, textsOf(pieces))
  return method === null ? path : `${method} ${path}`
}

export function suggestVersion({ version, segments, base, basePath }: ReadRoute): string {
  const option = `basePath: '${basePathOf(base)}'`
  if (base.length > 0 && version.isRight) return `set ${option}`
  const others = segments.filter((read) => read !== version.read && !base.includes(read))
  // The only segment of `/` is empty.
  const texts =
    segments.length === 1 && segments[0]?.segment.text === '' ? [] : others.map((read) => textOf(read))
  const ofBase = base.map((read) => textOf(read))
  const path = written({ basePath, isBelowBase: true }, [...ofBase, `v${version.major}`, ...texts])
  return base.length > 0 ? `${path}, with ${option}` : path
}

export function basePathOf(base: readonly ReadSegment[]): string {
  return base.map(({ segment }) => `/${segment.text}`).join('')
}

export function suggestAction(route: ReadRoute, vocabulary: PathVocabulary): string {
  const names = new Map(route.names.map((name) => [name.read, name]))
  const pieces: Piece[] = []
  const verbs: string[] = []
  for (const [index, read] of route.segments.entries()) {
    const name = names.get(read)
    if (name?.isVerb !== true) {
      pieces.push(pieceOf(read, name, vocabulary))
      continue
    }
    const item = route.segments[index + 1]
    const object = isItem(item) ? objectOf(read.word, route.methods, vocabulary) : null
    verbs.push(object === null ? textOf(read) : read.word.slice(0, -object.length - 1))
    if (object !== null && !isNamedBefore(pieces, object)) pieces.push(nounPiece(inPlural(object)))
    else addCollection(pieces, item)
  }
  const texts = textsOf(pieces)
  const end = texts.findLastIndex((text) => text !== '' && !text.endsWith('*')) + 1
  return `POST ${written(route, texts.toSpliced(end, 0, verbOf(verbs, route.methods, vocabulary)))}`
}

export function suggestSingleSlashes(route: ReadRoute): string {
  return written(
    route,
    route.segments.map((read) => textOf(read)).filter((text) => text !== ''),
  )
}

interface Piece {
  readonly text: string
  /** The word in kebab-case if the segment can name a collection; `null` for versions, parameters, verbs and aliases. */
  readonly noun: string | null
  readonly isItem: boolean
}

function pieceOf(read: ReadSegment, name: PathName | undefined, { selfAliases }: PathVocabulary): Piece {
  const { kind, word, segment } = read
  const isNoun = kind === 'literal' && name?.isVerb === false && isCollectionName(word)
  const isAlias = selfAliases.has(word) || selfAliases.has(segment.text)
  return { text: textOf(read), noun: isNoun && !isAlias ? word : null, isItem: isItem(read) }
}

function nounPiece(noun: string): Piece {
  return { text: noun.replaceAll(':', '::'), noun, isItem: false }
}

/** Whether the last noun in front is the same: `users` for `user`, with or without an item between them. */
function isNamedBefore(pieces: readonly Piece[], noun: string): boolean {
  const last = pieces.findLast((piece) => !piece.isItem)?.noun
  return typeof last === 'string' && inPlural(last) === inPlural(noun)
}

/** Adds a collection for a parameter that would have none: `orders` for `:orderId`. */
function addCollection(pieces: Piece[], item: ReadSegment | undefined): void {
  if (item === undefined || !isItem(item) || typeof pieces.at(-1)?.noun === 'string') return
  const [, parameter = ''] = /^[:{<](\w+)/.exec(item.segment.text) ?? []
  const noun = kebab(parameter).replace(/(?:^|-)(?:uu)?id$/, '')
  pieces.push(nounPiece(isCollectionName(noun) ? inPlural(noun) : anyCollection))
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
  // DELETE undoes the action.
  const isUndone =
    methods.includes('DELETE') && methods.every((method) => /^(?:DELETE|OPTIONS)$/.test(method))
  return (isUndone ? oppositeOf(kebab(last), vocabulary.verbs) : null) ?? last
}

function inPlural(text: string): string {
  const word = kebab(text)
  const last = lastWord(word)
  if (!isCollectionName(word) || isPlural(last)) return text
  const end = text.slice(-last.length)
  // The text may have characters that other rules refuse, so its end may differ from the word.
  if (end.toLowerCase() !== last) return `${text}s`
  return `${text.slice(0, -last.length)}${inCaseOf(end, plural(last))}`
}

function inCaseOf(model: string, word: string): string {
  if (model.length > 1 && model === model.toUpperCase()) return word.toUpperCase()
  return `${model.slice(0, 1)}${word.slice(1)}`
}

/** Returns the path with its literals changed; a literal that becomes empty is left out. */
function withLiterals(
  route: ReadRoute,
  change: (literal: string) => string,
  changeInner: (literal: string) => string,
  changeParameter = (parameter: string) => parameter,
): string {
  const texts = route.segments.flatMap((read) => {
    const changeLiteral = read.kind === 'literal' ? change : changeInner
    const text = textOf(read, changeLiteral, changeParameter)
    return text === '' && read.segment.text !== '' ? [] : [text]
  })
  return written(route, texts)
}

const unchanged = (text: string): string => text

function textOf({ parts }: ReadSegment, changeLiteral = unchanged, changeParameter = unchanged): string {
  return parts
    .map(({ literal, text }) => (literal ? changeLiteral(text).replaceAll(':', '::') : changeParameter(text)))
    .join('')
}

function textsOf(pieces: readonly Piece[]): string[] {
  return pieces.map(({ text }) => text)
}

function written(
  { basePath, isBelowBase }: Pick<ReadRoute, 'basePath' | 'isBelowBase'>,
  texts: readonly string[],
): string {
  const last = texts.length - 1
  const path = texts
    // The router takes optional parameters only at the end.
    .map((text, index) => `/${/^:[^:]/.test(text) && index < last ? text.replace(/\?$/, '') : text}`)
    .join('')
  return `${isBelowBase ? basePath : ''}${path}` || '/'
}
