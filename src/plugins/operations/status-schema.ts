import type { KeyStyle } from '../../words/key-names.js'

const problem = {
  type: 'object',
  description: 'Why it failed: a problem document (RFC 9457), its text once more as `message`',
  required: ['type', 'title', 'status', 'detail', 'code', 'message'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', description: 'Stable name of the cause, to branch on' },
    message: { type: 'string' },
    errors: { type: 'array', items: { type: 'object', additionalProperties: true } },
  },
}

const link = {
  type: 'object',
  description: 'How to cancel it; there only while that can be done',
  required: ['rel', 'method', 'href'],
  properties: {
    rel: { type: 'string', enum: ['cancel'] },
    method: { type: 'string', enum: ['DELETE'] },
    href: { type: 'string' },
  },
}

/** JSON Schema of a status document, for serialization and for OpenAPI. */
export function statusSchemaIn(keyStyle: KeyStyle) {
  const names = statusNames[keyStyle]
  return {
    type: 'object',
    description: 'How an operation stands',
    required: ['id', 'status', names.created_at],
    properties: {
      id: { type: 'string' },
      status: { type: 'string', enum: ['In progress', 'Succeeded', 'Failed'] },
      progress: { type: 'number', minimum: 0, maximum: 1 },
      link,
      [names.created_at]: { type: 'string', format: 'date-time' },
      [names.finished_at]: { type: 'string', format: 'date-time' },
      resourceLocation: { type: 'string', description: 'URL of what it created' },
      result: { description: 'What else came of it' },
      error: problem,
    },
  }
}

/**
 * The names of two words of a status document, in each key style. `resourceLocation` is not among them: generic clients
 * of long-running operations (Azure's) read it under this name alone.
 */
export const statusNames = {
  snake_case: { created_at: 'created_at', finished_at: 'finished_at' },
  camelCase: { created_at: 'createdAt', finished_at: 'finishedAt' },
} as const

const seconds = { type: 'integer', description: 'Seconds after which it is worth to ask again' }

/** Headers of a 202, for OpenAPI. */
export const acceptedHeaders = {
  Location: { type: 'string', description: 'URL of the operation' },
  'Operation-Location': { type: 'string', description: 'URL of its status document, which is always a 200' },
  'Retry-After': seconds,
}

/** Headers of a poll, for OpenAPI. */
export const pollHeaders = {
  'Retry-After': seconds,
  'Last-Modified': { type: 'string', description: 'When the document changed last (RFC 9110 §8.8.2)' },
}

/** Headers of a poll of what has created something, for OpenAPI. */
export const createdHeaders = { Location: { type: 'string', description: 'URL of what it created' } }

/** An answer that is a problem, for OpenAPI. */
export function problemAnswer(description: string): object {
  return { description, content: { 'application/problem+json': { schema: problemSchema } } }
}

const problemSchema = {
  type: 'object',
  description: 'What went wrong (RFC 9457)',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', description: 'Stable name of the cause, to branch on' },
  },
}
