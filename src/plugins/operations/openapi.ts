import type { FastifySchema } from 'fastify'
import {
  type DescribedHeaders,
  headersIn,
  problemsOf,
  type RouteDescription,
} from '../../problem/route-description.js'
import type { Json } from '../../schema/json-schema.js'
import { type DocumentOperation, in30 } from '../../schema/openapi.js'
import { isObjectSchema } from '../../schema/responses.js'
import type { KeyStyle } from '../../words/words.js'
import { listLimits } from './list-page.js'
import type { OperationStatus } from './record.js'

/** Maximum of seconds that a request waits (`Prefer: wait`). */
export const maxWait = 10

/**
 * Adds the responses of the operation that a route starts: 202, and 200 and 303 for a client that waits for the end. A route
 * that declares a success of its own answers with that instead.
 *
 * @param declared the response schemas of the route
 * @param result schema of the result; `null` for any value
 */
export function documentStart(declared: unknown, keyStyle: KeyStyle, result: Json | null): DocumentOperation {
  const hasSuccess = isObjectSchema(declared) && Object.keys(declared).some((name) => /^2/.test(name))
  const hasOwn = isObjectSchema(declared) && Object.keys(declared).some((name) => /^2(?!02$)/.test(name))
  return (operation, openapi) => {
    const schema = statusSchemaIn(keyStyle, result === null || !openapi.is30 ? result : in30(result))
    const answer = (description: string, headers?: DescribedHeaders) => ({
      description,
      ...(headers && { headers: headersIn(openapi, headers) }),
      content: { 'application/json': { schema } },
    })
    // Without schemas, @fastify/swagger shows a 200.
    const { 200: unknown, ...others } = operation.responses ?? {}
    return {
      ...operation,
      responses: {
        202: answer('Accepted: poll the Location', acceptedHeaders),
        ...(!hasOwn && {
          200: answer('The operation has ended within the time to wait'),
          303: answer('It has created a resource', createdHeaders),
        }),
        ...others,
        ...(hasSuccess && unknown && { 200: unknown }),
      },
    }
  }
}

export function describeStart(isOnePer: boolean): RouteDescription {
  const description = `respond-async: for a 202; wait=n: for the end, n seconds, at most ${maxWait} (RFC 7240)`
  const prefer = { type: 'string', description }
  return {
    parameters: { Prefer: { schema: prefer } },
    headers: applied,
    problems: problemsOf({
      ...(isOnePer && { 'operation-in-progress': 'The operation is in progress for the resource already' }),
      'content-too-large': 'The input of the operation is too large',
      'quota-exceeded': 'The caller has too many operations in progress',
      'operations-full': 'There are too many operations',
      'operations-unavailable': 'Operations cannot be started at the moment',
    }),
    headersOf: { 202: applied, 303: applied, 429: retryAfter, 503: retryAfter },
  }
}

const applied = {
  'Preference-Applied': { type: 'string', description: 'The preferences that were honoured (RFC 7240 §3)' },
}

export function operationSchemas(
  keyStyle: KeyStyle,
  member: string,
): Record<'read' | 'readStatus' | 'list' | 'cancel', FastifySchema> {
  const document = statusSchemaIn(keyStyle)
  const status = { ...document, headers: pollHeaders }
  const tags = ['operations']
  const params = objectSchema(['id'], { id: { type: 'string' } })
  return {
    read: {
      operationId: 'readOperation',
      summary: 'The status of an operation',
      description: 'Leads to the created resource, once there is one.',
      tags,
      params,
      response: {
        200: status,
        303: { ...status, description: 'Succeeded with a resource', headers: createdHeaders },
      },
    },
    readStatus: {
      operationId: 'readOperationStatus',
      summary: 'The status document of an operation',
      description: 'Is always a 200, for clients that follow `Operation-Location`.',
      tags,
      params,
      response: {
        200: status,
      },
    },
    list: {
      operationId: 'listOperations',
      summary: 'Your operations, the newest first',
      description: 'Returns one page of the operations that you have started.',
      tags,
      querystring: { type: 'object', additionalProperties: false, properties: listParameters },
      response: {
        200: {
          ...objectSchema([member], { [member]: { type: 'array', items: document } }),
          description: 'A page of your operations',
        },
      },
    },
    cancel: {
      operationId: 'cancelOperation',
      summary: 'Cancel an operation',
      description: 'Waits until the work has stopped: a 409 says that it was too late.',
      tags,
      params,
      response: { 204: { description: 'It is cancelled, or was before', type: 'null' } },
    },
    // @fastify/swagger adds the first four members to the type.
  } as Record<string, FastifySchema> as ReturnType<typeof operationSchemas>
}

function objectSchema<Properties extends object>(
  required: readonly string[],
  properties: Properties,
  description?: string,
) {
  return { type: 'object', ...(description !== undefined && { description }), required, properties }
}

const listParameters = {
  limit: {
    type: 'integer',
    minimum: 1,
    default: listLimits.defaultLimit,
    description: `Items on the page; more than ${listLimits.maxLimit} is lowered to ${listLimits.maxLimit}`,
  },
  before_time: {
    type: 'string',
    format: 'date-time',
    description: 'Operations that were started before this time, newest first',
  },
  before_id: {
    type: 'string',
    description: 'With before_time: breaks ties between operations of the same time',
  },
}

const statuses: readonly OperationStatus[] = ['In progress', 'Succeeded', 'Failed']
const [string, dateTime] = [{ type: 'string' }, { type: 'string', format: 'date-time' }]

const problem = objectSchema(
  ['type', 'title', 'status', 'detail', 'code', 'message'],
  {
    type: string,
    title: string,
    status: { type: 'integer' },
    detail: string,
    code: { type: 'string', description: 'Stable name of the cause' },
    message: string,
    errors: { type: 'array', items: { type: 'object', additionalProperties: true } },
  },
  'Why it failed: a problem document (RFC 9457), with its text also as `message`',
)

const link = objectSchema(
  ['rel', 'method', 'href'],
  { rel: { type: 'string', enum: ['cancel'] }, method: { type: 'string', enum: ['DELETE'] }, href: string },
  'The request that cancels it; only while that is possible',
)

/** JSON Schema of a status document, for serialization and for OpenAPI. */
function statusSchemaIn(keyStyle: KeyStyle, result: Json | null = null) {
  const names = statusNames[keyStyle]
  const properties = {
    id: string,
    status: { type: 'string', enum: statuses },
    progress: { type: 'number', minimum: 0, maximum: 1 },
    link,
    [names.created_at]: dateTime,
    [names.finished_at]: dateTime,
    resourceLocation: { type: 'string', description: 'URL of the created resource' },
    result: result ?? { description: 'The result' },
    error: problem,
  }
  return objectSchema(['id', 'status', names.created_at], properties, 'The status of an operation')
}

export const statusNames = {
  snake_case: { created_at: 'created_at', finished_at: 'finished_at' },
  camelCase: { created_at: 'createdAt', finished_at: 'finishedAt' },
} as const

const pollHeaders = { 'Retry-After': { type: 'integer', description: 'Seconds until the next poll' } }
const retryAfter = { 'Retry-After': { type: 'integer', description: 'Seconds after which to try again' } }
const createdHeaders = { Location: { type: 'string', description: 'URL of the created resource' } }
const acceptedHeaders = {
  Location: { type: 'string', description: 'URL of the operation' },
  'Operation-Location': { type: 'string', description: 'URL of its status document, which is always a 200' },
  ...pollHeaders,
}

const unavailable = { 'operations-unavailable': 'The operations cannot be reached at the moment' }
const absent = {
  'not-found': 'There is no such operation',
  'operation-gone': 'It ended too long ago',
  ...unavailable,
}

const described = (problems: Parameters<typeof problemsOf>[0]): RouteDescription => ({
  allHeaders: { 'Cache-Control': { type: 'string', description: 'no-store: the operation goes on' } },
  problems: problemsOf(problems),
  headersOf: { ...('quota-exceeded' in problems && { 429: retryAfter }), 503: retryAfter },
})

export const describedOperations = {
  read: described({ ...absent, 'quota-exceeded': 'It is polled too often' }),
  list: described({ validation: 'The input is invalid', ...unavailable }),
  cancel: described({
    ...absent,
    'operation-finished': 'It has ended',
    'operation-not-cancellable': 'It cannot be cancelled',
  }),
}
