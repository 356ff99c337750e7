import {
  type DescribedSchema,
  type OpenApiResponse,
  type Operation,
  withParameters,
} from '../schema/openapi.js'
import { type ProblemCode, problemTypes } from './problem-error.js'
import { problemContent } from './problem-schema.js'

export type DescribedHeaders = Readonly<Record<string, object>>

export interface DescribedProblem {
  readonly code: string
  readonly status: number
  /** When it occurs. */
  readonly description: string
}

/** What a convention adds to the responses and parameters of a route in the OpenAPI document. */
export interface RouteDescription {
  /** Header fields of successful responses with content, but of a 202, whose result is yet to come. */
  readonly headers?: DescribedHeaders
  /** Header fields of all responses. */
  readonly allHeaders?: DescribedHeaders
  /** Header fields of the responses of a status. */
  readonly headersOf?: Readonly<Record<number, DescribedHeaders>>
  /** Responses without content, such as 304, each with its description. */
  readonly statuses?: Readonly<Record<number, string>>
  readonly problems?: readonly DescribedProblem[]
  /** Whether the problems of the route are complete: no other code can occur. */
  readonly isComplete?: boolean
  /** Header fields of the request. */
  readonly parameters?: Readonly<Record<string, DescribedParameter>>
}

interface DescribedParameter {
  readonly schema: object
  readonly isRequired?: boolean
}

export function problemsOf(
  descriptions: Readonly<Partial<Record<ProblemCode, string>>>,
): readonly DescribedProblem[] {
  return Object.entries(descriptions).map(([code, description]) => ({
    code,
    status: problemTypes[code as ProblemCode].status,
    description,
  }))
}

/** @param problem reference to the schema of problems */
export function withDescriptions(
  operation: Operation,
  all: readonly RouteDescription[],
  problem: string,
): Operation {
  const fields = all.flatMap(({ parameters = {} }) => Object.entries(parameters))
  const schemas = Object.fromEntries(fields.map(([name, { schema }]) => [name, schema as DescribedSchema]))
  const required = fields.flatMap(([name, { isRequired }]) => (isRequired === true ? [name] : []))
  const declared = operation.responses ?? {}
  const responses = Object.entries({ ...addedResponses(declared, all, problem), ...declared })
  return {
    ...withParameters(operation, 'header', schemas, required),
    responses: Object.fromEntries(
      responses.map(([status, response]) => [status, withHeaders(response, headersOf(status, all))]),
    ),
  }
}

type Responses = NonNullable<Operation['responses']>

function addedResponses(declared: Responses, all: readonly RouteDescription[], problem: string): Responses {
  const names = Object.keys(declared).map((status) => status.toLowerCase())
  const isAdded = (status: string | number) => !isCovered(names, `${status}`)
  const added: Record<string, OpenApiResponse> = {}
  for (const [status, description] of all.flatMap(({ statuses = {} }) => Object.entries(statuses)))
    if (isAdded(status)) added[status] = { description }
  const isComplete = all.some((one) => one.isComplete === true)
  const problems = all.flatMap((one) => one.problems ?? []).filter(({ status }) => isAdded(status))
  for (const status of new Set(problems.map((one) => one.status))) {
    const here = problems.filter((one) => one.status === status)
    const codes = [...new Set(here.map(({ code }) => code))]
    added[status] = {
      description: [...new Set(here.map(({ description }) => description))].join('; '),
      content: problemContent(problem, status, codes, isComplete),
    }
  }
  return added
}

function isCovered(declared: readonly string[], status: string): boolean {
  const isOfClass = declared.includes(`${status[0]}xx`) || (status >= '400' && declared.includes('default'))
  return isOfClass || declared.includes(status)
}

function headersOf(status: string, all: readonly RouteDescription[]): DescribedHeaders {
  const hasContent = /^2(?!02|04|05)/.test(status)
  const found = {}
  for (const { headers, allHeaders, headersOf: ofStatus } of all) {
    Object.assign(found, allHeaders, hasContent ? headers : undefined, ofStatus?.[Number(status)])
  }
  return found
}

function withHeaders(response: OpenApiResponse, described: DescribedHeaders): OpenApiResponse {
  return Object.keys(described).length === 0
    ? response
    : { ...response, headers: { ...headerObjects(described), ...response.headers } }
}

/** Returns header fields as OpenAPI has them: a schema, with the description beside it. */
export function headerObjects(described: DescribedHeaders): NonNullable<OpenApiResponse['headers']> {
  return Object.fromEntries(
    Object.entries(described).map(([name, one]) => {
      const { description, ...schema } = one as { readonly description?: string }
      return [name, { ...(description !== undefined && { description }), schema }]
    }),
  )
}
