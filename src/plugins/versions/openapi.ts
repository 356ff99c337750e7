import type { FastifySchema } from 'fastify'
import { withResponses } from '../../json-schema/added-responses.js'
import { type Lifecycle, lifecycleStatus } from './lifecycle.js'

type Described = FastifySchema & { readonly description?: unknown }

/**
 * Returns the schema of a route with its lifecycle, for the OpenAPI document: `deprecated` from that time,
 * `x-deprecation` and `x-sunset` (RFC 3339), a sentence in the description, the headers and the 410.
 *
 * @param now milliseconds since the epoch
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
      ...(deprecated === null ? {} : { Deprecation: header('When the deprecation begins (RFC 9745)') }),
      ...(sunset === null ? {} : { Sunset: header('When the resource ends (RFC 8594)') }),
    },
    statuses: sunset === null ? {} : { 410: 'The version has been retired' },
  })
}

function periodSentence({ deprecated, sunset, links }: Lifecycle, now: number): string {
  const ends = sunset === null ? '' : `answered with 410 from ${new Date(sunset).toISOString()} on`
  const since = deprecated !== null && deprecated > now ? 'from' : 'since'
  const old = deprecated === null ? '' : `deprecated ${since} ${new Date(deprecated).toISOString()}`
  const sentence = [old, ends].filter((part) => part !== '').join(', ')
  if (sentence === '') return ''
  const instead = links.successor === undefined ? '' : ` Its successor: ${links.successor}`
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.${instead}`
}

function header(description: string) {
  return { type: 'string', description }
}
