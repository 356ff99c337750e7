import { plural } from '../../words/plurals.js'
import { isCollectionName, type PathName } from './path-names.js'
import type { RouteReading } from './path-reading.js'
import type { PathRule } from './path-rule-names.js'
import { isItem, type ReadSegment } from './path-segments.js'
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
import { lastWord, type PathVocabulary } from './path-words.js'

/** A segment of the path to write. */
export interface PathPiece {
  /** In the router's notation. */
  readonly text: string
  /** Where it comes from; `null` for one that is new. */
  readonly read: ReadSegment | null
  readonly name: PathName | null
  /** It is a name that has to be plural. */
  readonly isCollection: boolean
}

/** The segments of a route, with their letters mended by the rules in force. */
export function piecesOf(reading: RouteReading, inForce: ReadonlySet<PathRule>): readonly PathPiece[] {
  const names = new Map(reading.names.map((name) => [name.read, name]))
  return reading.segments.flatMap((read) => {
    const text = mendedText(read, inForce)
    const isDropped = text === '' && (read.segment.text !== '' || inForce.has('slash'))
    if (isDropped) return []
    const name = names.get(read) ?? null
    const isCollection = name?.isCollection === true && name.crud.length === 0
    return [{ text, read, name, isCollection }]
  })
}

/** A literal that stands where there was another one, or none. */
export function newPiece(text: string, isCollection: boolean): PathPiece {
  return { text, read: null, name: null, isCollection }
}

/** The parameter that comes next, if one does. */
export function itemAfter(pieces: readonly PathPiece[], index: number): PathPiece | undefined {
  for (let other = index + 1; other < pieces.length; other++) {
    const next = pieces[other]
    if (next !== undefined && !isBlank(next)) return isItem(next.read ?? undefined) ? next : undefined
  }
  return undefined
}

/** Whether a parameter that comes next would be an item of the last piece. */
export function takesItem(pieces: readonly PathPiece[], vocabulary: PathVocabulary): boolean {
  const last = pieces.findLast((piece) => !isBlank(piece))
  return last !== undefined && collectionWord(last, vocabulary) !== null
}

/** Whether the last collection in front is that of a noun: `users` of `user`, be an item between them or not. */
export function isSaidBefore(
  pieces: readonly PathPiece[],
  noun: string,
  vocabulary: PathVocabulary,
): boolean {
  const last = pieces.findLast((piece) => !isBlank(piece) && !isItem(piece.read ?? undefined))
  const word = last === undefined ? null : collectionWord(last, vocabulary)
  return word !== null && pluralWord(word) === pluralWord(noun)
}

/** A collection for a parameter that has lost the name in front of it: `orders` for `:orderId`. */
export function collectionFor({ text }: PathPiece, otherwise = anyCollection): PathPiece {
  const [, parameter = ''] = /^[:{<](\w+)/.exec(text) ?? []
  const noun = kebab(parameter).replace(/(?:^|-)(?:uu)?id$/, '')
  return newPiece(isCollectionName(noun) ? pluralWord(noun) : otherwise, true)
}

/** Whether nothing is said by it. */
export function isBlank({ read }: PathPiece): boolean {
  return read?.isBlank === true
}

function collectionWord(
  { text, read, name, isCollection }: PathPiece,
  vocabulary: PathVocabulary,
): string | null {
  const word = kebab(text)
  if (isCollection) return word
  if (name === null || name.isVerb || read?.kind !== 'literal' || !isCollectionName(word)) return null
  return vocabulary.selfAliases.has(word) || vocabulary.selfAliases.has(text) ? null : word
}

function pluralWord(word: string): string {
  const last = lastWord(word)
  return word.slice(0, word.length - last.length) + plural(last)
}

function mendedText({ parts, kind }: ReadSegment, inForce: ReadonlySet<PathRule>): string {
  return parts
    .map(({ literal, text }) => {
      if (literal) return mendedLiteral(text, kind === 'literal', inForce).replaceAll(':', '::')
      return inForce.has('encoding') ? text.replace(/^[{<](\w+)[}>]$/, ':$1') : text
    })
    .join('')
}

function mendedLiteral(text: string, isWhole: boolean, inForce: ReadonlySet<PathRule>): string {
  let mended = text
  if (inForce.has('encoding') && needsEncoding(mended)) {
    mended = isWhole ? plainText(mended) : innerPlainText(mended)
  }
  if (inForce.has('uppercase')) mended = lowercase(mended)
  if (inForce.has('underscore')) mended = isWhole ? hyphenated(mended) : innerHyphens(mended)
  return mended
}
