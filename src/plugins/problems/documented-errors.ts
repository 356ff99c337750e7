import { isJson } from '../../http/media-types.js'
import { problemMediaType } from '../../problem/problem-error.js'
import { isPlainObject } from '../../schema/json-schema.js'
import { responseBodies } from '../../schema/responses.js'

/** An error that a route documents in another format than that of its problems. */
interface DocumentedError {
  readonly rule: 'documented'
  readonly problem: string
  readonly instead: string
}

/** Returns the errors that a route documents as other JSON, although problem documents are sent. */
export function documentedErrors(response: unknown): readonly DocumentedError[] {
  const bodies = responseBodies(response)
  const hasSuccess = bodies.some(({ status }) => /^[123]/.test(status))
  const found = new Map<string, string[]>()
  for (const { status, mediaType, schema } of bodies) {
    // Beside a success, `default` is the schema of errors.
    const isError = /^[45]/.test(status) || (status === 'default' && hasSuccess)
    const type = mediaType ?? 'application/json'
    const isOther = type !== problemMediaType && isJson(type) && describesContent(schema)
    if (isError && isOther) found.set(type, [...(found.get(type) ?? []), status])
  }
  return [...found].map(([type, statuses]) => ({
    rule: 'documented',
    problem: `${statuses.join(', ')}: documented as ${type}, and sent as ${problemMediaType}`,
    instead: 'no schema for it: the document gets the problems by itself',
  }))
}

function describesContent(schema: unknown): boolean {
  if (!isPlainObject(schema)) return schema !== undefined
  return schema.type !== 'null' && Object.keys(schema).some((keyword) => keyword !== 'description')
}
