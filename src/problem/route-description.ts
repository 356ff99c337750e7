import {
  type Content,
  type DescribedSchema,
  type OpenApi,
  type OpenApiResponse,
  type Operation,
  withParameters,
} from '../schema/openapi.js'
import { type ProblemCode, problemMediaType, problemTypes } from './problem-error.js'

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

/** @param problem returns the reference to the schema of problems; called if the operation has a problem */
export function withDescriptions(
  operation: Operation,
  all: readonly RouteDescription[],
  problem: () => string,
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

function addedResponses(
  declared: Responses,
  all: readonly RouteDescription[],
  problem: () => string,
): Responses {
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
      content: problemContent(problem(), status, codes, isComplete),
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

/** JSON Schema of a problem document (RFC 9457 §3.1). A problem may have further members. */
const problemSchema = {
  title: 'Problem',
  description: 'A problem document (RFC 9457)',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'URI of the problem type' },
    title: { type: 'string', description: 'Summary of the problem type' },
    status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status of the response' },
    detail: { type: 'string', description: 'Explanation of this occurrence' },
    instance: {
      type: 'string',
      format: 'uri-reference',
      description: 'URI of this occurrence; ends with the request id',
    },
    code: { type: 'string', description: 'Stable name of the cause, on which clients branch' },
    errors: {
      type: 'array',
      description: 'The faults in the input',
      items: {
        type: 'object',
        required: ['in', 'message'],
        properties: {
          in: {
            type: 'string',
            enum: ['body', 'query', 'path', 'header'],
            description: 'Part of the request',
          },
          pointer: { type: 'string', description: 'JSON Pointer (RFC 6901) into the body' },
          name: { type: 'string', description: 'Name of the parameter or header field' },
          message: { type: 'string', description: 'What is wrong with it' },
        },
      },
    },
  },
}

/** Adds the schema of problems to a document. Returns the reference to it. */
export function addProblemSchema({ document }: OpenApi): string {
  document.components ??= {}
  document.components.schemas ??= {}
  const { schemas } = document.components
  let name = problemSchema.title
  // The app may have a schema with this name.
  while (Object.hasOwn(schemas, name)) name += 'Document'
  schemas[name] = structuredClone(problemSchema)
  return `#/components/schemas/${name}`
}

const codesOfHttp = [
  'request-malformed',
  'uri-malformed',
  'request-timeout',
  'content-too-large',
  'uri-too-long',
  'expectation-failed',
  'header-fields-too-large',
] as const satisfies readonly ProblemCode[]

/**
 * @param problem reference to the schema of problems
 * @param isClosed whether no other code can occur
 */
function problemContent(
  problem: string,
  status: number,
  codes: readonly string[],
  isClosed: boolean,
): Content {
  const ofHttp = codesOfHttp.filter((code) => problemTypes[code].status === status)
  const known = { type: 'string', enum: [...new Set([...codes, ...ofHttp])] }
  const ofStatus = {
    type: 'object',
    required: ['status', 'code'],
    properties: {
      status: { type: 'integer', enum: [status] },
      code: isClosed ? known : { anyOf: [known, { type: 'string' }] },
    },
  }
  return { [problemMediaType]: { schema: { allOf: [{ $ref: problem }, ofStatus] } } }
}
