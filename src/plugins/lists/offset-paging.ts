import { wordsOf } from '../../words/key-names.js'

// In any key style; `page` alone, or with a word that makes it a number.
const offsets: ReadonlySet<string> = new Set([
  'offset',
  'skip',
  'start index',
  'page',
  'page index',
  'page no',
  'page num',
  'page number',
  'page offset',
])

/** A route that pages by offset. */
export interface OffsetBreach {
  readonly rule: 'offset'
  readonly problem: string
  readonly instead: string
}

/**
 * Returns the breach of a route that pages by offset, so that clients miss and repeat items when rows are added or removed;
 * `null` if it does not.
 *
 * @param names its query parameters
 */
export function offsetBreach(names: Iterable<string>): OffsetBreach | null {
  // The number of a page, or of items to leave out.
  const found = [...names].filter((name) => offsets.has(wordsOf(name).join(' ')))
  if (found.length === 0) return null
  return {
    rule: 'offset',
    problem: `pages by offset: ${found.join(', ')}`,
    instead: 'config.lists: {}, which pages by key: limit, before_id, after_id',
  }
}
