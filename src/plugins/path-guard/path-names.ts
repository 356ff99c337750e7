import { areCollecting, crudNameOf } from './crud-words.js'
import { isItem, type ReadSegment } from './path-segments.js'
import { type PathVocabulary, verbKind } from './path-words.js'

/** A segment behind the version, and its part in what the path says. */
export interface PathName {
  readonly read: ReadSegment
  /** The CRUD words in it. */
  readonly crud: readonly string[]
  /** The word without them; `''` where nothing is left. */
  readonly noun: string
  /** It is a verb, alone or in front of its object. */
  readonly isVerb: boolean
  /** It names a collection. */
  readonly isCollection: boolean
}

interface CrudReading extends Pick<PathName, 'read' | 'crud' | 'noun'> {
  /** A parameter comes next, CRUD words apart. */
  readonly hasItem: boolean
}

/** Reads the segments behind the version, those that are blank apart, as what is meant by them. */
export function readNames(
  segments: readonly ReadSegment[],
  methods: readonly string[],
  vocabulary: PathVocabulary,
): readonly PathName[] {
  const names = readCrud(segments, methods, vocabulary)
  const said = names.filter((name) => !isOnlyCrud(name))
  const verbs = verbsOf(said, methods, vocabulary)
  const collections = collectionsOf(names, said, verbs, vocabulary)
  return names.map((name) => ({
    read: name.read,
    crud: name.crud,
    noun: name.noun,
    isVerb: verbs.has(name),
    isCollection: collections.has(name),
  }))
}

/** Whether a name has nothing but CRUD words. */
export function isOnlyCrud({ crud, noun }: Pick<PathName, 'crud' | 'noun'>): boolean {
  return crud.length > 0 && noun === ''
}

/** Whether a noun in kebab-case can name a collection at all: a file or an instance of a protocol cannot. */
export function isCollectionName(noun: string): boolean {
  return /^[a-z0-9-]*[a-z]$/.test(noun)
}

/** Whether every method is that of an action; `OPTIONS` goes with any. */
export function areOfAction(methods: readonly string[]): boolean {
  return methods.every((method) => method === 'POST' || method === 'OPTIONS')
}

function readCrud(
  segments: readonly ReadSegment[],
  methods: readonly string[],
  { collections, verbs }: PathVocabulary,
): readonly CrudReading[] {
  const names: CrudReading[] = []
  let next: ReadSegment | undefined
  for (let index = segments.length - 1; index >= 0; index--) {
    const read = segments[index]
    if (read === undefined) continue
    const isName = read.kind === 'literal' && !isOneOf(collections, read) && !isOneOf(verbs, read)
    const found = isName ? crudNameOf(read.word, isItem(segments[index + 1]), methods) : null
    const name = { read, crud: found?.crud ?? [], noun: found?.noun ?? read.word, hasItem: isItem(next) }
    names.push(name)
    if (!isOnlyCrud(name)) next = read
  }
  return names.reverse()
}

function verbsOf(
  said: readonly CrudReading[],
  methods: readonly string[],
  vocabulary: PathVocabulary,
): ReadonlySet<CrudReading> {
  const last = said.findLast(({ read }) => read.kind !== 'wildcard')
  const isPosted = areOfAction(methods)
  return new Set(
    said.filter((name) => {
      const kind = verbKindOf(name, vocabulary)
      if (kind === null) return false
      if (name === last) return kind === 'verb' || isPosted
      // What an action is done to is a noun, be it made of a verb: POST /v1/merge-requests/:id/merge.
      const isDoneTo = isPosted && last !== undefined && verbKindOf(last, vocabulary) !== null
      if (kind === 'either') return isPosted && name.hasItem && !isDoneTo
      return !(isDoneTo && name.hasItem && name.noun.includes('-'))
    }),
  )
}

function verbKindOf({ read, noun, crud }: CrudReading, vocabulary: PathVocabulary): 'verb' | 'either' | null {
  const { collections, verbs } = vocabulary
  if (read.kind !== 'literal' || isOneOf(collections, read) || collections.has(noun)) return null
  return verbKind(crud.length === 0 && verbs.has(read.segment.text) ? read.segment.text : noun, verbs)
}

function collectionsOf(
  names: readonly CrudReading[],
  said: readonly CrudReading[],
  verbs: ReadonlySet<CrudReading>,
  vocabulary: PathVocabulary,
): ReadonlySet<CrudReading> {
  const { collections, selfAliases } = vocabulary
  const nouns = said.filter((name) => !verbs.has(name))
  const isAlone = nouns.length === 1 && verbs.size === 0
  const collected = collectedOf(names)
  return new Set(
    nouns.filter((name, index) => {
      const { read, noun } = name
      if (!isCollectionName(noun) || isOneOf(selfAliases, read)) return false
      if (isOneOf(collections, read) || collections.has(noun)) return false
      // Another key of the collection in front: /v1/users/by-email/:email.
      if (noun === 'by' || noun.startsWith('by-') || nouns[index - 1]?.noun === 'by') return false
      const next = nouns[index + 1]?.read
      const isAddressed = isItem(next) || (next !== undefined && isOneOf(selfAliases, next))
      return isAlone || isAddressed || collected.has(name)
    }),
  )
}

/** The names that CRUD words take for collections: `order` in `create-order`, and in front of `list`. */
function collectedOf(names: readonly CrudReading[]): ReadonlySet<CrudReading> {
  const collected = new Set<CrudReading>()
  let said: CrudReading | undefined
  for (const name of names) {
    if (!isOnlyCrud(name)) said = name
    if (said !== undefined && areCollecting(name.crud)) collected.add(said)
  }
  return collected
}

function isOneOf(words: ReadonlySet<string>, { kind, segment, word }: ReadSegment): boolean {
  return kind === 'literal' && (words.has(segment.text) || words.has(word))
}
