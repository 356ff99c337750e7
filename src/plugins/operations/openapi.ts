import type { FastifySchema } from 'fastify'
import {
  type DescribedHeaders,
  headerObjects,
  problemsOf,
  type RouteDescription,
} from '../../problem/route-description.js'
import type { Json } from '../../schema/json-schema.js'
import { type DocumentOperation, in30 } from '../../schema/openapi.js'
import { isObjectSchema } from '../../schema/responses.js'
import type { KeyStyle } from '../../words/words.js'
import { listLimits, statuses } from './list-page.js'
import { eventStream } from './status-stream.js'

/** Maximum of seconds that a request waits. */
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
  return (operation, { is30 }) => {
    const schema = statusSchemaIn(keyStyle, result === null || !is30 ? result : in30(result))
    const answer = (description: string, headers?: DescribedHeaders) => ({
      description,
      ...(headers && { headers: headerObjects(headers) }),
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

/** Returns what a route that starts operations takes and refuses, for the OpenAPI document. */
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

/** The schemas of the routes of operations. */
export function operationSchemas(
  keyStyle: KeyStyle,
  member: string,
): Record<'read' | 'readStatus' | 'list' | 'cancel', FastifySchema> {
  const document = statusSchemaIn(keyStyle)
  const status = { ...document, headers: pollHeaders }
  const created = { ...status, description: 'Succeeded with a resource', headers: createdHeaders }
  return {
    read: schemaOf(
      'readOperation',
      'The status of an operation',
      'Leads to the created resource, once there is one.',
      {
        200: status,
        303: created,
      },
    ),
    readStatus: schemaOf(
      'readOperationStatus',
      'The status document of an operation',
      'Is always a 200, for clients that follow `Operation-Location`.',
      {
        200: {
          description: 'The status of an operation; as server-sent events, each change of it',
          headers: pollHeaders,
          content: {
            'application/json': { schema: document },
            [eventStream]: { schema: { type: 'string' } },
          },
        },
        204: { description: 'The client has had the last event (Last-Event-ID)', type: 'null' },
      },
    ),
    list: {
      operationId: 'listOperations',
      summary: 'Your operations, the newest first',
      description: 'Returns one page of the operations that you have started, by `status` if you wish.',
      tags: ['operations'],
      querystring: { type: 'object', additionalProperties: false, properties: listParameters },
      response: {
        200: {
          type: 'object',
          description: 'A page of your operations',
          required: [member],
          properties: { [member]: { type: 'array', items: document } },
        },
      },
    } as FastifySchema,
    cancel: schemaOf(
      'cancelOperation',
      'Cancel an operation',
      'Waits until the work has stopped: a 409 says that it was too late.',
      cancelResponses,
    ),
  }
}

function schemaOf(
  operationId: string,
  summary: string,
  description: string,
  response: unknown,
): FastifySchema {
  // @fastify/swagger adds the first four to the type.
  return {
    operationId,
    summary,
    description,
    tags: ['operations'],
    params: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    response,
  } as FastifySchema
}

const listParameters = {
  status: { type: 'string', enum: statuses, description: 'Only operations in this state' },
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

const problem = {
  type: 'object',
  description: 'Why it failed: a problem document (RFC 9457), with its text also as `message`',
  required: ['type', 'title', 'status', 'detail', 'code', 'message'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', description: 'Stable name of the cause' },
    message: { type: 'string' },
    errors: { type: 'array', items: { type: 'object', additionalProperties: true } },
  },
}

const link = {
  type: 'object',
  description: 'The request that cancels it; only while that is possible',
  required: ['rel', 'method', 'href'],
  properties: {
    rel: { type: 'string', enum: ['cancel'] },
    method: { type: 'string', enum: ['DELETE'] },
    href: { type: 'string' },
  },
}

/** JSON Schema of a status document, for serialization and for OpenAPI. */
function statusSchemaIn(keyStyle: KeyStyle, result: Json | null = null) {
  const names = statusNames[keyStyle]
  return {
    type: 'object',
    description: 'The status of an operation',
    required: ['id', 'status', names.created_at],
    properties: {
      id: { type: 'string' },
      status: { type: 'string', enum: statuses },
      progress: { type: 'number', minimum: 0, maximum: 1 },
      link,
      [names.created_at]: { type: 'string', format: 'date-time' },
      [names.finished_at]: { type: 'string', format: 'date-time' },
      resourceLocation: { type: 'string', description: 'URL of the created resource' },
      result: result ?? { description: 'The result' },
      error: problem,
    },
  }
}

/** The names of two words of a status document, in each key style. */
export const statusNames = {
  snake_case: { created_at: 'created_at', finished_at: 'finished_at' },
  camelCase: { created_at: 'createdAt', finished_at: 'finishedAt' },
} as const

const seconds = { type: 'integer', description: 'Seconds until the next poll' }

const retryAfter = { 'Retry-After': { type: 'integer', description: 'Seconds after which to try again' } }

/** Headers of a 202, for OpenAPI. */
const acceptedHeaders = {
  Location: { type: 'string', description: 'URL of the operation' },
  'Operation-Location': { type: 'string', description: 'URL of its status document, which is always a 200' },
  'Retry-After': seconds,
}

/** Headers of a poll, for OpenAPI. */
const pollHeaders = {
  'Retry-After': seconds,
}

/** Headers of a poll of an operation that has created a resource, for OpenAPI. */
const createdHeaders = { Location: { type: 'string', description: 'URL of the created resource' } }

const cancelResponses = {
  204: { description: 'It is cancelled, or was before', type: 'null' },
}

const absent = {
  'not-found': 'There is no such operation',
  'operation-gone': 'It ended too long ago',
  'operations-unavailable': 'The operations cannot be reached at the moment',
} as const

const noStore = { 'Cache-Control': { type: 'string', description: 'no-store: the operation goes on' } }

/** What the routes of operations answer and refuse, for the OpenAPI document. */
export const describedOperations = {
  read: {
    allHeaders: noStore,
    problems: problemsOf({ ...absent, 'quota-exceeded': 'It is polled too often' }),
    headersOf: { 429: retryAfter, 503: retryAfter },
  },
  list: {
    allHeaders: noStore,
    problems: problemsOf({
      validation: 'The input is invalid',
      'operations-unavailable': absent['operations-unavailable'],
    }),
    headersOf: { 503: retryAfter },
  },
  cancel: {
    allHeaders: noStore,
    problems: problemsOf({
      ...absent,
      'operation-finished': 'It has ended',
      'operation-not-cancellable': 'It cannot be cancelled',
    }),
    headersOf: { 503: retryAfter },
  },
} satisfies Record<string, RouteDescription>
