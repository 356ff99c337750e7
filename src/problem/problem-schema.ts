import type { Content, OpenApi } from '../schema/openapi.js'
import { problemMediaType } from './problem-document.js'
import { type ProblemCode, problemTypes } from './problem-error.js'

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
export function problemContent(
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
