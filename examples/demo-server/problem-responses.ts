import type { JsonSchema } from './declaration.js'

/** A problem document (RFC 9457), as the OpenAPI document shows it. */
export const problemSchema: JsonSchema = {
  $id: 'problem',
  title: 'problem',
  description: 'What went wrong (RFC 9457)',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', description: 'URI of the kind of problem' },
    title: { type: 'string', description: 'The kind of problem in words' },
    status: { type: 'integer', description: 'The HTTP status' },
    detail: { type: 'string', description: 'What happened this time' },
    instance: { type: 'string', description: 'URI of this occurrence; ends in the request id' },
    code: { type: 'string', description: 'Stable name of the cause, to branch on' },
    errors: {
      type: 'array',
      description: 'The faults in the input, one by one',
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

const meaning = {
  400: 'The request is malformed or its input invalid',
  401: 'The token is of no user, or there is none where a caller is needed',
  404: 'There is no such item',
  406: 'The client takes none of the media types there are',
  409: 'The state of other items forbids it',
  412: 'A precondition does not hold: somebody else was faster',
  413: 'The body is too large',
  415: 'The media type of the body is not one of those taken here',
  422: 'The input is well-formed, but contradicts other items',
  500: 'The server failed',
  503: 'The server cannot answer now: Retry-After says when to try again',
} as const

const ofAnyRoute = [401, 500, 503] as const

type ErrorStatus = keyof typeof meaning

/** The responses of the given error statuses, and of those that any route may have, for a route's `schema.response`. */
export function problemResponses(...statuses: readonly ErrorStatus[]): Record<string, JsonSchema> {
  return Object.fromEntries(
    [...statuses, ...ofAnyRoute].map((status) => [
      status,
      {
        description: meaning[status],
        content: { 'application/problem+json': { schema: { $ref: 'problem#' } } },
      },
    ]),
  )
}
