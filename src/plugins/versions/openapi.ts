import type { FastifySchema } from 'fastify'
import { withResponses } from '../../json-schema/added-responses.js'
import { type Lifecycle, lifecycleStatus } from './lifecycle.js'

/** What a schema says of a lifecycle, for the OpenAPI document alone. */
type Described = FastifySchema & { readonly description?: unknown }

/**
 * The schema of a route with the period for which it is provided: `deprecated` once it is so, `x-deprecation` and
 * `x-sunset` (RFC 3339), a sentence in the description, the headers of its answers and the 410.
 *
 * @param now when the document is made, in milliseconds since the epoch
 */
export function describeLifecycle(
  schema: FastifySchema | undefined,
  lifecycle: Lifecycle,
  now: number,
): FastifySchema {
  const { deprecated, sunset } = lifecycle
  const own: Described = schema ?? {}
  const sentence = periodSentence(lifecycle, now)
  const described = {
    ...own,
    ...(lifecycleStatus(lifecycle, now) === 'current' ? {} : { deprecated: true }),
    ...(sentence === '' ? {} : { description: [own.description ?? [], sentence].flat().join('\n\n') }),
    ...(deprecated === null ? {} : { 'x-deprecation': new Date(deprecated).toISOString() }),
    ...(sunset === null ? {} : { 'x-sunset': new Date(sunset).toISOString() }),
  }
  return withResponses(described, {
    headers: {
      ...(deprecated === null ? {} : { Deprecation: header('From when on it is deprecated (RFC 9745)') }),
      ...(sunset === null ? {} : { Sunset: header('From when on it is not there any more (RFC 8594)') }),
    },
    statuses: sunset === null ? {} : { 410: 'The version has been retired' },
  })
}

function periodSentence({ deprecated, sunset, links }: Lifecycle, now: number): string {
  const ends = sunset === null ? '' : `answered with 410 from ${new Date(sunset).toISOString()} on`
  const since = deprecated !== null && deprecated > now ? 'from' : 'since'
  const old = deprecated === null ? '' : `deprecated ${since} ${new Date(deprecated).toISOString()}`
  const said = [old, ends].filter((part) => part !== '').join(', ')
  if (said === '') return ''
  const instead = links.successor === undefined ? '' : ` Its successor: ${links.successor}`
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}.${instead}`
}

function header(description: string) {
  return { type: 'string', description }
}
