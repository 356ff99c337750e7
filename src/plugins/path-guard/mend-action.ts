import { crudNameOf } from './crud-words.js'
import { areOfAction, isCollectionName } from './path-names.js'
import {
  collectionFor,
  isBlank,
  isSaidBefore,
  itemAfter,
  newPiece,
  type PathPiece,
  takesItem,
} from './path-pieces.js'
import { kebab } from './path-text.js'
import { oppositeOf, type PathVocabulary, verbKind } from './path-words.js'

/** A path with its verb at the end; of several verbs the last one is done to the others: `confirm-cancel`. */
export function asAction(
  pieces: readonly PathPiece[],
  methods: readonly string[],
  vocabulary: PathVocabulary,
): readonly PathPiece[] {
  const kept: PathPiece[] = []
  const verbs: string[] = []
  for (const [index, piece] of pieces.entries()) {
    if (piece.name?.isVerb !== true) {
      kept.push(piece)
      continue
    }
    const item = itemAfter(pieces, index)
    const word = kebab(piece.text)
    const object = item === undefined ? null : objectOf(word, methods, vocabulary)
    verbs.push(object === null ? piece.text : word.slice(0, -object.length - 1))
    if (object !== null && !isSaidBefore(kept, object, vocabulary)) kept.push(newPiece(object, true))
    else if (item !== undefined && !takesItem(kept, vocabulary)) kept.push(collectionFor(item))
  }
  const end = kept.findLastIndex((piece) => !isBlank(piece) && piece.read?.kind !== 'wildcard') + 1
  return kept.toSpliced(end, 0, newPiece(verbOf(verbs, methods, vocabulary), false))
}

/** What the verb in front of an item is done to: `order` of `cancel-order`. */
function objectOf(word: string, methods: readonly string[], { verbs }: PathVocabulary): string | null {
  if (verbs.has(word)) return null
  const object = word.slice(word.indexOf('-') + 1)
  const isNoun = isCollectionName(object) && crudNameOf(object, true, methods) === null && !verbs.has(object)
  return isNoun && object !== word && verbKind(object, verbs) === null ? object : null
}

function verbOf(verbs: readonly string[], methods: readonly string[], vocabulary: PathVocabulary): string {
  const [only, ...others] = [...new Set(verbs.toReversed())]
  if (only === undefined) return ''
  if (others.length > 0) return [only, ...others].join('-')
  const isTakenBack =
    !areOfAction(methods) && methods.every((method) => method === 'DELETE' || method === 'OPTIONS')
  return (isTakenBack ? oppositeOf(kebab(only), vocabulary.verbs) : null) ?? only
}
