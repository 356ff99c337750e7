import type { Json, SchemaStore } from '../../../json-schema/schema-refs.js'
import type { ProblemIssue } from '../../../problem/problem-error.js'
import { PlanCompiler } from './plan-compiler.js'
import type { WideNode } from './wide-node.js'

/** Where the declared 64-bit integers of an input are. */
export interface WidePlan {
  readonly root: WideNode
  readonly place: InputPlace
  readonly source: InputSource
}

/** The part of a request that an input is. */
export type InputPlace = Exclude<ProblemIssue['in'], 'header'>

/** Is the input JSON, or text such as path and query? */
export type InputSource = 'json' | 'text'

export interface WidePlanOptions {
  readonly place: InputPlace
  /** @default 'json' for the body, 'text' for path and query */
  readonly source?: InputSource
  /** Schemas that others refer to, by their `$id`. */
  readonly shared?: SchemaStore
}

/**
 * Compiles what a JSON Schema declares as integers of `format: int64` or `uint64`; `null` if there are none, so that
 * nothing has to be done with the input. The schema may be recursive, and is not changed.
 *
 * @throws TypeError for a reference to nothing
 */
export function compileWidePlan(schema: unknown, options: WidePlanOptions): WidePlan | null {
  const { place, source = place === 'body' ? 'json' : 'text', shared = {} } = options
  const root = new PlanCompiler(shared).compile(schema as Json)
  return root === null ? null : { root, place, source }
}
