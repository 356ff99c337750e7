import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { DocumentOperation } from '../../schema/openapi.js'
import type { Lifecycle } from './lifecycle.js'

export function documentLifecycle(
  { deprecated, sunset, link }: Lifecycle,
  now: () => number,
): DocumentOperation {
  const iso = (time: number): string => new Date(time).toISOString()
  return (operation) => {
    const time = now()
    const isPast = [deprecated, sunset].some((one) => one !== null && one <= time)
    const since = deprecated !== null && deprecated > time ? 'from' : 'since'
    const period = [
      deprecated === null ? [] : `deprecated ${since} ${iso(deprecated)}`,
      sunset === null ? [] : `answered with 410 from ${iso(sunset)} on`,
    ].flat()
    const instead = link.successor === undefined ? '' : ` Its successor: ${link.successor}`
    const sentence = `${period.join(', ')}.${instead}`.replace(/^./, (first) => first.toUpperCase())
    return {
      ...operation,
      ...(isPast && { deprecated: true }),
      ...(period.length > 0 && { description: [operation.description ?? [], sentence].flat().join('\n\n') }),
      ...(deprecated !== null && { 'x-deprecation': iso(deprecated) }),
      ...(sunset !== null && { 'x-sunset': iso(sunset) }),
    }
  }
}

/** Returns what the lifecycle adds to the responses of a route: its header fields, and the 410 after the sunset. */
export function describeAnnouncements({ headers, sunset }: Lifecycle): RouteDescription {
  const texts = {
    Deprecation: 'When the deprecation begins (RFC 9745)',
    Sunset: 'When the resource ends (RFC 8594)',
    Link: 'Links with rel="deprecation", "sunset" or "successor-version" (RFC 8288)',
  }
  const announced = Object.entries(texts).filter(([name]) => name.toLowerCase() in headers)
  const fields = announced.map(([name, description]) => [name, { type: 'string', description }])
  return {
    allHeaders: Object.fromEntries(fields),
    problems: sunset === null ? [] : problemsOf({ 'version-retired': 'The version has been retired' }),
  }
}
