import { isSchemaObject } from './schema-parts.js'
import type { Json } from './schema-refs.js'

/** What a route declares of its answers of success. */
export interface SuccessSchemas {
  /** Schemas of JSON bodies. */
  readonly judged: readonly SuccessSchema[]
  /** What there is else, and why it cannot be judged. */
  readonly leftAlone: readonly string[]
}

/** The schema of a JSON body, and the status it is for: `200`, `2xx`, `default`. */
export interface SuccessSchema {
  readonly status: string
  readonly schema: Json
}

/**
 * What a route declares of its answers of success that have a body, by their statuses: those of 2xx, and `default` where
 * there are none (beside one, it is the schema of errors).
 */
export function successAnswers(response: unknown): readonly (readonly [status: string, answer: unknown])[] {
  const entries = isSchemaObject(response) ? Object.entries<unknown>(response) : []
  const successes = entries.filter(([status]) => /^2(\d\d|xx)$/i.test(status))
  if (successes.length === 0) return entries.filter(([status]) => /^default$/i.test(status))
  return successes.filter(([status]) => !bodyless.has(status))
}

/**
 * Finds the schemas of success among the response schemas of a route: those of {@link successAnswers} that say something
 * of a body.
 *
 * @param isJson tells the media types of JSON
 */
export function successSchemas(response: unknown, isJson: (mediaType: string) => boolean): SuccessSchemas {
  const judged: SuccessSchema[] = []
  const leftAlone: string[] = []
  for (const [status, answer] of successAnswers(response)) {
    for (const { schema, mediaType } of bodiesOf(answer)) {
      const reason = reasonToLeaveAlone(schema, mediaType, isJson)
      if (reason !== null) leftAlone.push(`${status}: ${reason}`)
      else if (saysSomething(schema)) judged.push({ status, schema: schema as Json })
    }
  }
  return { judged, leftAlone }
}

const bodyless: ReadonlySet<string> = new Set(['204', '205'])

interface DeclaredBody {
  readonly schema: unknown
  /** `null` where it is not declared: what the framework makes of the payload. */
  readonly mediaType: string | null
}

function bodiesOf(answer: unknown): DeclaredBody[] {
  if (!isPlain(answer) || !isPlain(answer.content)) return [{ schema: answer, mediaType: null }]
  return Object.entries(answer.content).map(([mediaType, body]) => ({
    schema: isPlain(body) ? body.schema : body,
    mediaType: mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '',
  }))
}

function reasonToLeaveAlone(
  schema: unknown,
  mediaType: string | null,
  isJson: (mediaType: string) => boolean,
): string | null {
  // `*/*` is the framework's word for every other media type, JSON first.
  if (mediaType !== null && mediaType !== '*/*' && !isJson(mediaType)) return `${mediaType} is not JSON`
  if (typeof schema === 'boolean' || schema === undefined || schema === null) return null
  // Standard Schema is what plain objects of other validators have in common.
  if (!isPlain(schema) || '~standard' in schema) return 'the schema is not a JSON Schema'
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

function saysSomething(schema: unknown): boolean {
  if (!isPlain(schema) || schema.type === 'null') return false
  return Object.keys(schema).some((keyword) => !annotations.has(keyword) && !keyword.startsWith('x-'))
}

// Schemas of other validators are instances of their classes.
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
