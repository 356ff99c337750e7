import { isJson } from '../../http/media-types.js'
import { problemMediaType } from '../../problem/problem-error.js'
import { isPlainObject, type Json, type SchemaObject } from '../../schema/json-schema.js'
import { constrains } from '../../schema/reader.js'
import { successBodies } from '../../schema/responses.js'
import type { ResponseBreach } from './response-rules.js'
import type { SchemaVerdict } from './schema-breaches.js'

/** What there is to say of the response schemas of a route. */
interface RouteVerdict {
  /** The breaches, each with the statuses that it concerns. */
  readonly breaches: readonly ResponseBreach[]
  /** Why schemas were not checked. */
  readonly unresolved: readonly string[]
}

export function routeBreaches(
  judged: readonly SuccessSchema[],
  verdictOf: (schema: SuccessSchema['schema']) => SchemaVerdict,
): RouteVerdict {
  const found = new Map<string, ResponseBreach & { readonly statuses: Set<string> }>()
  const notResolved: string[] = []
  for (const { status, schema } of judged) {
    const { breaches, unresolved } = verdictOf(schema)
    for (const ref of unresolved) notResolved.push(`${status}: $ref ${ref} cannot be resolved`)
    for (const breach of breaches) {
      const key = `${breach.rule} ${breach.problem}`
      const known = found.get(key)
      if (known === undefined) found.set(key, { ...breach, statuses: new Set([status]) })
      else known.statuses.add(status)
    }
  }
  const breaches = [...found.values()].map(({ statuses, ...breach }) => ({
    ...breach,
    problem: `${[...statuses].join(', ')}: ${breach.problem}`,
  }))
  return { breaches, unresolved: notResolved }
}

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

function describesBody(schema: unknown): boolean {
  return isPlainObject(schema) && schema.type !== 'null' && constrains(schema as SchemaObject)
}
