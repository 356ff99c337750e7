import { STATUS_CODES } from 'node:http'
import { kept } from '../kept.js'
import type { Content, OpenApi, OpenApiResponse, Operation, Reference } from '../schema/openapi.js'
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
  /** Header fields of all responses, or of those whose status passes {@link hasAllHeaders}. */
  readonly allHeaders?: DescribedHeaders
  /** @param status may be `2XX` or `default`, too */
  readonly hasAllHeaders?: (status: string) => boolean
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

export const retryAfterDescribed: DescribedHeaders = {
  'Retry-After': { type: 'string', description: 'Seconds, or the time, after which to try again' },
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

/** What conventions describe of operations that declare the same responses. */
interface Described {
  /** By their names in lowercase. */
  readonly parameters: ReadonlyMap<string, Reference>
  readonly responses: Readonly<Record<string, Reference>>
  /** Header fields of the responses that the operations declare, by status. */
  readonly headersOf: Readonly<Record<string, References>>
}

type References = Readonly<Record<string, Reference>>

/** Returns a function that adds to operations of a document what conventions describe, as references to components. */
export function describer(openapi: OpenApi) {
  const known = new Map<string, Described>()
  const texts = new Map<string, number>()
  const numbers = new Map<RouteDescription, number>()
  // Routes share most descriptions, and equal ones count as one.
  const numberOf = (one: RouteDescription): number =>
    kept(numbers, one, () => kept(texts, JSON.stringify(one), () => texts.size))

  return function withDescriptions(operation: Operation, all: readonly RouteDescription[]): Operation {
    if (all.every(isEmpty)) return operation
    const { parameters = [], responses = {} } = operation
    const statuses = Object.keys(responses)
    // Most operations of a document are described alike.
    const described = kept(known, `${statuses} ${all.map(numberOf)}`, () =>
      describedIn(openapi, statuses, all),
    )
    const declared = parameters.map((one) => (one.in === 'header' ? one.name?.toLowerCase() : undefined))
    const added = [...described.parameters].filter(([name]) => !declared.includes(name))
    const completed = Object.entries(responses).map(([status, response]) => [
      status,
      withHeaders(response, described.headersOf[status] ?? {}),
    ])
    return {
      ...operation,
      ...(added.length > 0 && { parameters: [...parameters, ...added.map(([, reference]) => reference)] }),
      responses: { ...described.responses, ...Object.fromEntries(completed) },
    }
  }
}

function isEmpty(description: RouteDescription): boolean {
  return Object.values(description).every(
    (part) => typeof part !== 'object' || Object.keys(part).length === 0,
  )
}

function describedIn(
  openapi: OpenApi,
  declared: readonly string[],
  all: readonly RouteDescription[],
): Described {
  const { refer } = openapi
  const headers = (status: string): References => headersIn(openapi, headersOf(status, all))
  const parameters = all.flatMap((one) => Object.entries(one.parameters ?? {}))
  const responses = Object.entries(addedResponses(declared, all, openapi)).map(([status, response]) => {
    const name = (STATUS_CODES[status] ?? status).replace(/\W/g, '')
    return [status, refer('responses', name, withHeaders(response, headers(status)))]
  })
  return {
    parameters: new Map(
      parameters.map(([name, { schema, isRequired = false }]) => [
        name.toLowerCase(),
        refer('parameters', name, {
          in: 'header',
          name,
          ...(isRequired && { required: true }),
          ...withDescriptionBeside(schema),
        }),
      ]),
    ),
    responses: Object.fromEntries(responses),
    headersOf: Object.fromEntries(declared.map((status) => [status, headers(status)])),
  }
}

function addedResponses(
  declared: readonly string[],
  all: readonly RouteDescription[],
  openapi: OpenApi,
): Record<string, OpenApiResponse> {
  const names = declared.map((status) => status.toLowerCase())
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
      content: problemContent(openapi, status, codes, isComplete),
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
  for (const { headers, allHeaders, hasAllHeaders, headersOf: ofStatus } of all) {
    if (hasAllHeaders?.(status) !== false) Object.assign(found, allHeaders)
    Object.assign(found, hasContent ? headers : undefined, ofStatus?.[Number(status)])
  }
  return found
}

function withHeaders(response: OpenApiResponse, headers: References): OpenApiResponse {
  if (response.$ref !== undefined || Object.keys(headers).length === 0) return response
  return { ...response, headers: { ...headers, ...response.headers } }
}

/** Returns header fields as OpenAPI has them: a schema, with the description beside it. */
export function headersIn({ refer }: OpenApi, described: DescribedHeaders): References {
  const headers = Object.entries(described).map(([name, one]) => [
    name,
    refer('headers', name, withDescriptionBeside(one)),
  ])
  return Object.fromEntries(headers)
}

function withDescriptionBeside(described: object): object {
  const { description, ...schema } = described as { readonly description?: string }
  return { ...(description !== undefined && { description }), schema }
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

const codesOfHttp = [
  'request-malformed',
  'uri-malformed',
  'request-timeout',
  'content-too-large',
  'uri-too-long',
  'expectation-failed',
  'header-fields-too-large',
] as const satisfies readonly ProblemCode[]

/** @param isClosed whether no other code can occur */
function problemContent(
  { refer }: OpenApi,
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
  const problem = refer('schemas', problemSchema.title, problemSchema)
  return { [problemMediaType]: { schema: { allOf: [problem, ofStatus] } } }
}
