import { type PathSegment, routePath, type SegmentPart, segmentParts } from '../../http/url.js'
import {
  baseWords,
  collectionWords,
  crudNameOf,
  isSingleton,
  isUnversionedPath,
  kebab,
  type PathVocabulary,
  readWords,
  verbKind,
} from './path-words.js'

export interface ReadRoute {
  readonly methods: readonly string[]
  readonly pattern: string
  /** The base path that the option names, if the route is below it. */
  readonly basePath: string
  readonly segments: readonly ReadSegment[]
  /** A base path that the option does not name: `/api` of `/api/v1/users`. */
  readonly base: string
  readonly version: PathVersion
  /** Whether the path needs no version: a root, or an endpoint for operators, browsers or tools. */
  readonly isUnversioned: boolean
  readonly names: readonly PathName[]
}

export interface ReadSegment {
  /** The text of the pattern; in a literal, `:` for `::`. */
  readonly text: string
  /** The kind that is meant: a literal such as `{id}` is a parameter. */
  readonly kind: PathSegment['kind']
  readonly parts: readonly SegmentPart[]
  readonly word: string
}

export interface PathVersion {
  /** `1` if the path has none. */
  readonly major: string
  /** The segment that names it; `null` if none does. */
  readonly read: ReadSegment | null
  /** Whether it comes first, or behind the base, in the form `v1`. */
  readonly isRight: boolean
}

export interface PathName {
  readonly read: ReadSegment
  readonly crud: readonly string[]
  /** The word without them; `''` if it has no other words. */
  readonly noun: string
  readonly hasItem: boolean
  isVerb: boolean
  isCollection: boolean
}

// Parameters in other notations: `{id}` in OpenAPI, `<id>` in prose.
const template = /([{<]\w+[}>](?=[-.]|$))/

const majorVersion = /^v(0|[1-9][0-9]*)$/
const looseVersion = /^v(?:er(?:sion)?)?[-.]?([0-9]+)(?:[-.][0-9]+)*(?:[-.]?(?:alpha|beta|rc)[-.]?[0-9]*)?$/
const bareVersion = /^0*([0-9]{1,2})(?:\.[0-9]+)*$/

export function readRoute(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath: string,
): ReadRoute {
  const below = pattern === basePath || pattern.startsWith(`${basePath}/`) ? basePath : ''
  const path = pattern.slice(below.length)
  const segments = path === '' ? [] : routePath(path).map(readSegment)
  // A literal without letters and digits has no meaning for the rules.
  const meaningful = segments.filter(({ kind, word }) => kind !== 'literal' || /[a-z0-9]/.test(word))
  const base = basePath === '' ? meaningful.slice(0, baseLength(meaningful)) : []
  const ofApi = meaningful.slice(base.length)
  const version = readVersion(ofApi)
  const named = ofApi.filter((read) => read !== version.read)
  const names = readNames(named, methods, vocabulary)
  const isRoot = ofApi.length === 0 && segments.length - base.length <= 1
  const isUnversioned = version.read === null && (isRoot || isUnversionedPath(ofApi.map(({ word }) => word)))
  const baseText = base.map(({ text }) => `/${text}`).join('')
  return { methods, pattern, basePath: below, segments, base: baseText, version, isUnversioned, names }
}

export function isItem(read: ReadSegment | undefined): boolean {
  return read?.kind === 'parameter' || read?.kind === 'mixed'
}

export function isOnlyCrud({ crud, noun }: Pick<PathName, 'crud' | 'noun'>): boolean {
  return crud.length > 0 && noun === ''
}

/** Whether a noun in kebab-case can name a collection; the name of a file or of a protocol's version cannot. */
export function isCollectionName(noun: string): boolean {
  return /^[a-z0-9-]*[a-z]$/.test(noun)
}

export function areOfAction(methods: readonly string[]): boolean {
  return methods.every((method) => method === 'POST' || method === 'OPTIONS')
}

function readSegment({ kind, text }: PathSegment): ReadSegment {
  if (kind !== 'literal') return { text, kind, parts: segmentParts(text), word: '' }
  const parts = text.split(template).map((part, index) => ({ literal: index % 2 === 0, text: part }))
  if (parts.length > 1) {
    return { text, kind: 'parameter', parts: parts.filter((part) => part.text !== ''), word: '' }
  }
  return { text, kind, parts, word: kebab(text) }
}

/** Returns how many of the first segments are a base path: words such as `api`, or any in front of a version. */
function baseLength(segments: readonly ReadSegment[]): number {
  const words = segments.findIndex(({ word }) => !baseWords.has(word))
  if (words === -1) return segments.length
  const version = segments.findIndex(
    ({ kind, word }) =>
      kind !== 'literal' || looseVersion.test(word) || crudNameOf(word, false, ['GET']) !== null,
  )
  // What follows `/users/v1` or `/users/v1/:id` are the users: the version is in the wrong place.
  const isBase =
    looseVersion.test(segments[version]?.word ?? '') &&
    (words > 0 || segments[version + 1]?.kind === 'literal')
  return isBase ? version : words
}

/** Finds the version among segments that are not blank: in front, or elsewhere, or in another form. */
function readVersion(segments: readonly ReadSegment[]): PathVersion {
  const first = segments[0] ?? null
  const right = majorVersion.exec(first?.word ?? '')?.[1]
  if (right !== undefined) return { major: right, read: first, isRight: true }
  const bare = bareVersion.exec(first?.word ?? '')?.[1]
  if (bare !== undefined) return { major: bare, read: first, isRight: false }
  const read = segments.find(({ word }) => looseVersion.test(word)) ?? null
  const major = looseVersion.exec(read?.word ?? '')?.[1] ?? '1'
  return { major: major.replace(/^0+(?=.)/, ''), read, isRight: false }
}

function readNames(
  segments: readonly ReadSegment[],
  methods: readonly string[],
  vocabulary: PathVocabulary,
): readonly PathName[] {
  const { collections, verbs } = vocabulary
  const names: PathName[] = []
  let next: ReadSegment | undefined
  for (const [index, read] of [...segments.entries()].reverse()) {
    const isName = read.kind === 'literal' && !isOneOf(collections, read) && !isOneOf(verbs, read)
    const isAction = index === segments.length - 1 && areOfAction(methods) && readWords.has(read.word)
    const { crud, noun } = (isName &&
      !isAction &&
      crudNameOf(read.word, isItem(segments[index + 1]), methods)) || {
      crud: [],
      noun: read.word,
    }
    const name = { read, crud, noun, hasItem: isItem(next), isVerb: false, isCollection: false }
    names.push(name)
    if (!isOnlyCrud(name)) next = read
  }
  names.reverse()
  const others = names.filter((name) => !isOnlyCrud(name))
  markVerbs(others, methods, vocabulary)
  const nouns = others.filter(({ isVerb }) => !isVerb)
  markCollections(names, nouns, others.length === 1, vocabulary)
  return names
}

function markVerbs(names: readonly PathName[], methods: readonly string[], vocabulary: PathVocabulary): void {
  const last = names.findLast(({ read }) => read.kind !== 'wildcard')
  const isPosted = areOfAction(methods)
  // The object of an action is a noun, even if it starts with a verb: POST /v1/merge-requests/:id/merge.
  const hasObject = isPosted && last !== undefined && verbKindOf(last, vocabulary) !== null
  for (const name of names) {
    const kind = verbKindOf(name, vocabulary)
    if (kind === null) continue
    if (name === last) name.isVerb = kind === 'verb' || isPosted
    else if (kind === 'either') name.isVerb = isPosted && name.hasItem && !hasObject
    else name.isVerb = !(hasObject && name.hasItem && name.noun.includes('-'))
  }
}

function verbKindOf({ read, noun, crud }: PathName, vocabulary: PathVocabulary): 'verb' | 'either' | null {
  const { collections, verbs } = vocabulary
  if (read.kind !== 'literal' || isOneOf(collections, read) || collections.has(noun)) return null
  return verbKind(crud.length === 0 && verbs.has(read.text) ? read.text : noun, verbs)
}

function markCollections(
  names: readonly PathName[],
  nouns: readonly PathName[],
  isAlone: boolean,
  { collections, selfAliases }: PathVocabulary,
): void {
  // CRUD words apply to collections: `order` in `create-order`, and in front of `list`.
  const byCrud = new Set<PathName>()
  let last: PathName | undefined
  for (const name of names) {
    if (!isOnlyCrud(name)) last = name
    if (last !== undefined && name.crud.some((word) => collectionWords.has(word))) byCrud.add(last)
  }
  for (const [index, name] of nouns.entries()) {
    const { read, noun } = name
    if (!isCollectionName(noun) || isOneOf(selfAliases, read)) continue
    if (isOneOf(collections, read) || collections.has(noun)) continue
    // Another key of the collection in front: /v1/users/by-email/:email.
    if (noun === 'by' || noun.startsWith('by-') || nouns[index - 1]?.noun === 'by') continue
    const next = nouns[index + 1]?.read
    const isAddressed = isItem(next) || (next !== undefined && isOneOf(selfAliases, next))
    if (isSingleton(noun, isAddressed)) continue
    name.isCollection = isAlone || isAddressed || byCrud.has(name)
  }
}

function isOneOf(words: ReadonlySet<string>, { text, word }: ReadSegment): boolean {
  return words.has(text) || words.has(word)
}
