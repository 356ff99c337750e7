import type { FastifyInstance } from 'fastify'
import { rootOf } from '../fastify/internals.js'
import { problemMediaType } from './problem-document.js'
import { type ProblemCode, problemTypes } from './problem-error.js'

const problemSchemaId = 'fastify-conventions.problem'

/** JSON Schema of a problem document (RFC 9457 §3.1). A problem may have further members. */
const problemSchema = {
  $id: problemSchemaId,
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

/** Adds the schema of problems to an app, so that the OpenAPI document has it once. */
export function declareProblemSchema(app: FastifyInstance): void {
  const root = rootOf(app)
  if (root.getSchema(problemSchemaId) === undefined) root.addSchema(structuredClone(problemSchema))
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
export function problemContent(status: number, codes: readonly string[], isClosed: boolean): object {
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
  return { [problemMediaType]: { schema: { allOf: [{ $ref: `${problemSchemaId}#` }, ofStatus] } } }
}
