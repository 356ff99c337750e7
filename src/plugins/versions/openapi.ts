import type { DocumentOperation } from '../../json-schema/openapi.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { type Lifecycle, lifecycleStatus } from './lifecycle.js'

export function documentLifecycle(lifecycle: Lifecycle, now: () => number): DocumentOperation {
  const { deprecated, sunset } = lifecycle
  return (operation) => {
    const sentence = periodSentence(lifecycle, now())
    const description = [operation.description ?? [], sentence].flat().filter((part) => part !== '')
    return {
      ...operation,
      ...(lifecycleStatus(lifecycle, now()) !== 'current' && { deprecated: true }),
      ...(description.length > 0 && { description: description.join('\n\n') }),
      ...(deprecated !== null && { 'x-deprecation': new Date(deprecated).toISOString() }),
      ...(sunset !== null && { 'x-sunset': new Date(sunset).toISOString() }),
    }
  }
}

/** Returns what the lifecycle adds to the responses of a route: its header fields, and the 410 after the sunset. */
export function describeAnnouncements({ deprecated, sunset, links }: Lifecycle): RouteDescription {
  return {
    allHeaders: {
      ...(deprecated === null ? {} : { Deprecation: header('When the deprecation begins (RFC 9745)') }),
      ...(sunset === null ? {} : { Sunset: header('When the resource ends (RFC 8594)') }),
      ...(Object.values(links).some((link) => link !== undefined)
        ? { Link: header('Links with rel="deprecation", "sunset" or "successor-version" (RFC 8288)') }
        : {}),
    },
    problems: sunset === null ? [] : problemsOf({ 'version-retired': 'The version has been retired' }),
  }
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
