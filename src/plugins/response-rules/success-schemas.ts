import { isJson } from '../../http/media-types.js'
import { isPlainObject, type Json } from '../../json-schema/json-schema.js'
import { successBodies } from '../../json-schema/responses.js'
import { problemMediaType } from '../../problem/problem-document.js'

/** What a route declares of its answers of success. */
export interface SuccessSchemas {
  /** Schemas of JSON bodies. */
  readonly judged: readonly SuccessSchema[]
  /** The other schemas: why each is not judged. */
  readonly excluded: readonly string[]
}

/** The schema of a JSON body, and the status that it counts for: `200`, `2xx`, `default`. */
export interface SuccessSchema {
  readonly status: string
  readonly schema: Json
}

/** The response schemas of success that say something about a JSON body. */
export function successSchemas(response: unknown): SuccessSchemas {
  const judged: SuccessSchema[] = []
  const excluded: string[] = []
  for (const { status, schema, mediaType } of successBodies(response)) {
    const reason = exclusionReason(schema, mediaType)
    if (reason !== null) excluded.push(`${status}: ${reason}`)
    else if (describesBody(schema)) judged.push({ status, schema: schema as Json })
  }
  return { judged, excluded }
}

function exclusionReason(schema: unknown, mediaType: string | null): string | null {
  if (mediaType === problemMediaType) return `${mediaType} has a format of its own`
  // To Fastify, `*/*` is every other media type, JSON first.
  if (mediaType !== null && mediaType !== '*/*' && !isJson(mediaType)) return `${mediaType} is not JSON`
  if (typeof schema === 'boolean' || schema === undefined || schema === null) return null
  // Standard Schema is what plain objects of other validators have in common.
  if (!isPlainObject(schema) || '~standard' in schema) return 'the schema is not a JSON Schema'
  if (mediaType === null && schema.type === 'string') return 'a string, which is sent as text'
  return null
}

const annotations: ReadonlySet<string> = new Set([
  '$comment',
  '$id',
  '$schema',
  'content',
  'deprecated',
  'description',
  'example',
  'examples',
  'headers',
  'links',
  'summary',
  'title',
])

function describesBody(schema: unknown): boolean {
  if (!isPlainObject(schema) || schema.type === 'null') return false
  return Object.keys(schema).some((keyword) => !annotations.has(keyword) && !keyword.startsWith('x-'))
}
