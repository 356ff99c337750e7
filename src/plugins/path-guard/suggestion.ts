import { isPlural, plural } from '../../words/words.js'
import { corrected, kebab, type TextRule } from './path-faults.js'
import { crudMethod, crudNameOf, lastWord, oppositeOf, type PathVocabulary, verbKind } from './path-words.js'
import { isCollectionName, isItem, isOnlyCrud, type ReadRoute, type ReadSegment } from './read-route.js'

/** Placeholder for the name of a collection that the path does not give. */
const anyCollection = 'items'

interface Piece {
  readonly text: string
  /** The word in kebab-case if the segment can name a collection; `null` for versions, parameters, verbs and aliases. */
  readonly noun: string | null
  readonly isItem: boolean
}

/** Returns the path of a route without its breaches, and the method if it is another one. */
export function correctedRoute(
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
  for (const [index, read] of segments.entries()) {
    if (read.text === '' && (broken.has('slash') || (isMoved && segments.length === 1))) continue
    if (isMoved && read === version.read) continue
    const name = nameOf.get(read)
    const next = segments[index + 1]
    if (name?.isVerb === true && broken.has('action')) {
      const object = isItem(next) ? objectOf(read.word, methods, vocabulary) : null
      verbs.push(object === null ? read.word : read.word.slice(0, -object.length - 1))
      if (object !== null && !isNamedBefore(pieces, object)) pieces.push(nounPiece(inPlural(object)))
      else addCollection(pieces, next)
    } else if (name !== undefined && name.crud.length > 0 && broken.has('words')) {
      if (isOnlyCrud(name) || isNamedBefore(pieces, name.noun)) addCollection(pieces, next)
      else pieces.push(nounPiece(name.isCollection ? inPlural(name.noun) : name.noun))
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
  const [, parameter = ''] = /^[:{<](\w+)/.exec(item.text) ?? []
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
  const isUndone = methods.includes('DELETE') && methods.every((one) => /^(?:DELETE|OPTIONS)$/.test(one))
  return (isUndone ? oppositeOf(last, vocabulary.verbs) : null) ?? last
}

function inPlural(text: string): string {
  const word = kebab(text)
  const last = lastWord(word)
  if (!isCollectionName(word) || isPlural(last)) return text
  // The text may have faults whose rules are off, so its end may differ from the word.
  return text.endsWith(last) ? `${text.slice(0, -last.length)}${plural(last)}` : `${text}s`
}

/** Returns a segment without the faults of its literals, and with parameters in the router's notation. */
function textOf({ kind, text: whole, parts }: ReadSegment, rules: (rule: TextRule) => boolean): string {
  const texts = parts.map(({ literal, text }) => {
    if (!literal) return rules('encoding') ? text.replace(/^[{<](\w+)[}>]$/, ':$1') : text
    const result = corrected(text, rules, kind === 'literal')
    // Letters of other scripts have no plain text.
    const isLost = !/[A-Za-z0-9]/.test(result) && kind === 'literal' && /\p{L}/u.test(text)
    return (isLost && rules('encoding') ? anyCollection : result).replaceAll(':', '::')
  })
  return whole === '' ? '' : texts.join('')
}

function written(basePath: string, texts: readonly string[]): string {
  const last = texts.length - 1
  const path = texts
    // The router takes optional parameters only at the end.
    .map((text, index) => `/${/^:[^:]/.test(text) && index < last ? text.replace(/\?$/, '') : text}`)
    .join('')
  return `${basePath}${path}` || '/'
}
