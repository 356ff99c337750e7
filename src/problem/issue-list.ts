import { clip } from '../text.js'

/** One fault in the input. */
export type ProblemIssue =
  | {
      readonly in: 'body'
      /** JSON Pointer (RFC 6901) into the request body; `''` is the whole body. */
      readonly pointer: string
      readonly message: string
    }
  | {
      readonly in: 'query' | 'path' | 'header'
      /** Name of the parameter or header field. */
      readonly name: string
      readonly message: string
    }

const maxIssues = 50
// Of all issues together, before their texts are cut: names in a body can be as long as the body.
const maxCharacters = 10_000
const maxTextLength = 300

/** Collects the issues of a problem, at most 50 and about 10,000 characters. */
export class IssueList {
  readonly issues: ProblemIssue[] = []
  #left = maxCharacters

  get isFull(): boolean {
    return this.issues.length >= maxIssues || this.#left <= 0
  }

  add(issue: ProblemIssue): void {
    if (this.isFull) return
    const texts = Object.values(issue).filter((value): value is string => typeof value === 'string')
    for (const { length } of texts) this.#left -= length
    this.issues.push(texts.some(({ length }) => length > maxTextLength) ? cut(issue) : issue)
  }
}

export function boundedIssues(issues: readonly ProblemIssue[]): readonly ProblemIssue[] {
  const list = new IssueList()
  for (const issue of issues) {
    if (list.isFull) break
    list.add(issue)
  }
  return list.issues
}

/** Returns the issues as one text: `body/name is required, query/limit must be integer`. */
export function textOfIssues(issues: readonly ProblemIssue[]): string {
  return issues
    .map((issue) => `${issue.in}${issue.in === 'body' ? issue.pointer : `/${issue.name}`} ${issue.message}`)
    .join(', ')
}

function cut(issue: ProblemIssue): ProblemIssue {
  const entries = Object.entries(issue).map(([key, value]: [string, unknown]) => [
    key,
    typeof value === 'string' ? clip(value, maxTextLength) : value,
  ])
  return Object.fromEntries(entries) as ProblemIssue
}
