import type { BenchRequest } from './scenario.js'

/** What a variant answered to one request of its scenario. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/**
 * What is wrong with the answers of a variant, one line per fault: another status or body than declared, or, where
 * `baseline` is given, another body than there.
 */
export function answerFaults(
  requests: readonly BenchRequest[],
  answers: readonly Answer[],
  baseline: readonly Answer[] | null,
): string[] {
  return requests.flatMap((request, index) => {
    const name = `${request.method ?? 'GET'} ${request.target}`
    const expected = request.status ?? 200
    const answer = answers[index]
    if (answer === undefined) return [`${name}: no answer`]
    if (answer.status !== expected) {
      return [`${name}: expected ${expected}, got ${answer.status} ${clip(answer.body)}`]
    }
    if (request.answer !== undefined && answer.body !== request.answer) {
      return [`${name}: expected ${clip(request.answer)}, got ${clip(answer.body)}`]
    }
    const body = baseline?.[index]?.body
    if (baseline !== null && answer.body !== body) {
      return [`${name}: expected the body of the baseline, ${clip(body ?? '')}, got ${clip(answer.body)}`]
    }
    return []
  })
}

/** @throws Error when there are faults. */
export function refuseFaults(variant: string, faults: readonly string[]): void {
  if (faults.length > 0)
    throw new Error(`variant '${variant}' does not answer as declared:\n  ${faults.join('\n  ')}`)
}

const longestShown = 120

function clip(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text
}
