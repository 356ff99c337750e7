import { ProblemError } from '../../problem/problem-error.js'
import type { LifecyclePlan } from './lifecycle-plan.js'

/** The 410 of what is past its sunset. */
export function retiredProblem({ version, headers, lifecycle }: LifecyclePlan): ProblemError {
  const what = version === null ? 'It' : `Version ${version}`
  const { successor } = lifecycle.links
  const instead = successor === undefined ? '' : `; its successor is ${successor}`
  return new ProblemError('version-retired', { detail: `${what} ended on ${headers.sunset ?? ''}${instead}` })
}
