import { isPlural, plural } from '../../words/plurals.js'
import { crudMethod } from './crud-words.js'
import { asAction } from './mend-action.js'
import { withoutCrud } from './mend-words.js'
import { isCollectionName } from './path-names.js'
import { newPiece, type PathPiece, piecesOf } from './path-pieces.js'
import { actionFaultOf, type RouteReading } from './path-reading.js'
import type { PathRule } from './path-rule-names.js'
import { kebab } from './path-text.js'
import { lastWord, type PathVocabulary } from './path-words.js'

/** What to write instead of a route that breaks rules. */
export interface MendedRoute {
  /** The method that an action or a CRUD word asks for; `null` where those of the route will do. */
  readonly method: string | null
  readonly pattern: string
}

/** Mends a route by the rules in force: its letters, its words, their order, their number, the version. */
export function mendedRoute(
  reading: RouteReading,
  vocabulary: PathVocabulary,
  basePath: string,
  inForce: ReadonlySet<PathRule>,
): MendedRoute {
  let pieces = piecesOf(reading, inForce)
  let method: string | null = null
  if (inForce.has('words')) {
    pieces = withoutCrud(pieces, vocabulary)
    // Where the path has a verb, that is what is done.
    if (!reading.names.some(({ isVerb }) => isVerb)) method = crudMethodOf(reading)
  }
  if (inForce.has('action') && actionFaultOf(reading) !== null) {
    pieces = asAction(pieces, reading.methods, vocabulary)
    method = 'POST'
  }
  if (inForce.has('plural')) pieces = pieces.map(inPlural)
  if (inForce.has('version')) pieces = withVersion(pieces, reading)
  const base = reading.isBelowBase || inForce.has('version') ? basePath : ''
  return { method, pattern: `${base}${written(pieces)}` || '/' }
}

function crudMethodOf({ names, methods }: RouteReading): string | null {
  return crudMethod(
    names.flatMap(({ crud }) => crud),
    methods,
  )
}

function inPlural(piece: PathPiece): PathPiece {
  const word = kebab(piece.text)
  const last = lastWord(word)
  if (!piece.isCollection || !isCollectionName(word) || isPlural(last)) return piece
  const stem = piece.text.slice(0, -last.length)
  const end = piece.text.slice(-last.length)
  // Where another rule is off, letters may stand there that the word does not have.
  const text = end.toLowerCase() === last ? `${stem}${inCaseOf(end, plural(last))}` : `${piece.text}s`
  return { ...piece, text }
}

function inCaseOf(model: string, word: string): string {
  if (model.length > 1 && model === model.toUpperCase()) return word.toUpperCase()
  return `${model.slice(0, 1)}${word.slice(1)}`
}

function withVersion(pieces: readonly PathPiece[], { version }: RouteReading): readonly PathPiece[] {
  if (version.isRight) return pieces
  const others = pieces.filter(({ read }) => read === null || read !== version.read)
  return [newPiece(`v${version.major}`, false), ...others]
}

function written(pieces: readonly PathPiece[]): string {
  const last = pieces.length - 1
  const texts = pieces.map(({ text, read }, index) =>
    // The router knows optional parameters at the end only.
    read?.kind === 'parameter' && index < last ? text.replace(/\?$/, '') : text,
  )
  return texts.map((text) => `/${text}`).join('')
}
