import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { PathFault } from './path-faults.js'

const problems = {
  uppercase: { 'path-uppercase': 'The path has uppercase letters' },
  encoding: { 'path-encoded': 'The path has encoded characters' },
} as const satisfies Readonly<Record<PathFault, object>>

/** Returns the refusals of paths with a fault, for the OpenAPI document. */
export function describePathFaults(faults: readonly PathFault[], status: number): RouteDescription {
  return {
    problems: faults.flatMap((fault) => problemsOf(problems[fault])).map((one) => ({ ...one, status })),
  }
}
