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

export interface OffsetBreach {
  readonly rule: 'offset'
  readonly problem: string
  readonly instead: string
}

export function offsetBreach(names: Iterable<string>): OffsetBreach | null {
  const found = [...names].filter((name) => offsets.has(wordsOf(name).join(' ')))
  if (found.length === 0) return null
  return {
    rule: 'offset',
    problem: `pages by offset: ${found.join(', ')}`,
    instead: 'config.lists: {}, which pages by key: limit, before_id, after_id',
  }
}
