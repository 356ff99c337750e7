import { plural } from '../../words/plurals.js'
import { isOnlyCrud } from './path-names.js'
import { collectionFor, isSaidBefore, itemAfter, type PathPiece, takesItem } from './path-pieces.js'
import type { PathVocabulary } from './path-words.js'

// A CRUD word that alone in front of an item is as well its collection.
const crudNouns: ReadonlySet<string> = new Set(['list', 'show'])

/** A path without its CRUD words: the nouns among them stay, and every item has its collection. */
export function withoutCrud(pieces: readonly PathPiece[], vocabulary: PathVocabulary): readonly PathPiece[] {
  const kept: PathPiece[] = []
  for (const [index, piece] of pieces.entries()) {
    const { name } = piece
    if (name === null || name.crud.length === 0) kept.push(piece)
    else if (!isOnlyCrud(name) && !isSaidBefore(kept, name.noun, vocabulary)) {
      kept.push({ ...piece, text: name.noun.replaceAll(':', '::'), isCollection: name.isCollection })
    } else {
      const item = itemAfter(pieces, index)
      const [crud = ''] = name.crud
      const otherwise = crudNouns.has(crud) ? plural(crud) : undefined
      if (item !== undefined && !takesItem(kept, vocabulary)) {
        kept.push(collectionFor(item, otherwise))
      }
    }
  }
  return kept
}
