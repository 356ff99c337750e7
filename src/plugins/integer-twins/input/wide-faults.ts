import type { WideRange } from '../../../json/wide-range.js'
import { IssueList } from '../../../problem/issue-list.js'
import type { ProblemIssue } from '../../../problem/problem-error.js'
import type { InputPlace } from './wide-plan.js'

/** Why an input with 64-bit integers is refused. */
export interface WideRefusal {
  /** `mismatch`: integers differ from their string twins, and nothing else is wrong. */
  readonly kind: 'mismatch' | 'invalid'
  readonly issues: readonly ProblemIssue[]
}

/** Collects what is wrong with an input, as much as an {@link IssueList} takes. */
export class FaultCollector {
  readonly #place: InputPlace
  readonly #list = new IssueList()
  #kind: WideRefusal['kind'] = 'mismatch'

  constructor(place: InputPlace) {
    this.#place = place
  }

  add(kind: WideRefusal['kind'], path: readonly (string | number)[], message: string): void {
    if (kind === 'invalid') this.#kind = kind
    if (this.#list.isFull) return
    this.#list.add(
      this.#place === 'body'
        ? { in: this.#place, pointer: pointerTo(path), message }
        : { in: this.#place, name: String(path[0] ?? ''), message },
    )
  }

  /** `null`: nothing is wrong. */
  refusal(): WideRefusal | null {
    const { issues } = this.#list
    return issues.length === 0 ? null : { kind: this.#kind, issues }
  }
}

/** What is wrong with a number that is no integer of the range. */
export function faultOf(number: number, range: WideRange): string {
  if (Object.is(number, -0)) return 'must be 0, not -0'
  const isUnsafe = Number.isInteger(number) && !Number.isSafeInteger(number)
  const isTooPrecise = isUnsafe && number > Number(range.min) && number < Number(range.max)
  return isTooPrecise ? 'must be written in plain digits, as it is beyond 2^53' : outside(range)
}

/** What is wrong with an integer beyond the range. */
export function outside({ min, max }: WideRange): string {
  return `must be an integer from ${min} to ${max}`
}

// RFC 6901 §3.
function pointerTo(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
