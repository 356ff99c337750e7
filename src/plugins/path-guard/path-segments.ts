import { type PathSegment, routePath, type SegmentPart, segmentParts } from '../../http/route-path.js'
import { kebab } from './path-text.js'

/** A segment of a route's path, and what it is meant to be. */
export interface ReadSegment {
  readonly segment: PathSegment
  /** A literal such as `{id}` is meant to be a parameter. */
  readonly kind: PathSegment['kind']
  readonly parts: readonly SegmentPart[]
  /** A literal in kebab-case. */
  readonly word: string
  /** A literal without a letter and without a digit: what the path says, it says without it. */
  readonly isBlank: boolean
}

/** The major version that a path tells. */
export interface PathVersion {
  readonly major: string
  /** The segment that tells it; `null` where none does. */
  readonly read: ReadSegment | null
  /** It is in front, and written as a version is. */
  readonly isRight: boolean
}

// What other notations have for a parameter: `{id}` in OpenAPI, `<id>` in prose.
const template = /([{<]\w+[}>](?=[-.]|$))/

const majorVersion = /^v(0|[1-9][0-9]*)$/
const looseVersion = /^v(?:er(?:sion)?)?[-.]?([0-9]+)(?:[-.][0-9]+)*(?:[-.]?(?:alpha|beta|rc)[-.]?[0-9]*)?$/
const bareVersion = /^0*([0-9]{1,2})(?:\.[0-9]+)*$/

/** Reads the segments of a path pattern. */
export function readSegments(pattern: string): readonly ReadSegment[] {
  return routePath(pattern).map(readSegment)
}

/** Finds the version among segments that are not blank: in front, or elsewhere, or written otherwise. */
export function readVersion(segments: readonly ReadSegment[]): PathVersion {
  const first = segments[0] ?? null
  const right = majorVersion.exec(first?.word ?? '')?.[1]
  if (right !== undefined) return { major: right, read: first, isRight: true }
  const bare = bareVersion.exec(first?.word ?? '')?.[1]
  if (bare !== undefined) return { major: bare, read: first, isRight: false }
  const read = segments.find(({ word }) => looseVersion.test(word)) ?? null
  const major = looseVersion.exec(read?.word ?? '')?.[1] ?? '1'
  return { major: major.replace(/^0+(?=.)/, ''), read, isRight: false }
}

/** Whether a segment is read as an item of the collection in front of it. */
export function isItem(read: ReadSegment | undefined): boolean {
  return read?.kind === 'parameter' || read?.kind === 'mixed'
}

function readSegment(segment: PathSegment): ReadSegment {
  const { kind, text } = segment
  if (kind !== 'literal') return { segment, kind, parts: segmentParts(text), word: '', isBlank: false }
  const parts = text.split(template).map((part, index) => ({ literal: index % 2 === 0, text: part }))
  if (parts.length > 1) {
    const said = parts.filter((part) => part.text !== '')
    return { segment, kind: said.length === 1 ? 'parameter' : 'mixed', parts: said, word: '', isBlank: false }
  }
  const word = kebab(text)
  return { segment, kind, parts, word, isBlank: !/[a-z0-9]/.test(word) }
}
