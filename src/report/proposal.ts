import { groupsOf } from '../text.js'
import type { Finding } from './findings.js'

/** The conventions whose routes can except single rules; the others can be turned off for a route. */
export const exceptsRules: ReadonlySet<string> = new Set([
  'caching',
  'pathGuard',
  'responseRules',
  'versions',
])

/** A rule that is broken in more places is turned off: exceptions from it would be a list of the routes. */
const maxPlaces = 3

interface Breach extends Pick<Finding, 'plugin' | 'rule'> {
  readonly url: string
}

/**
 * Returns options of the preset with which the findings do not stop the boot, as lines of code: a rule that is broken in many
 * places is off, and the routes of others are excepted from it. Empty where no option helps.
 */
export function proposalOf(findings: readonly Finding[]): string[] {
  const stopping: Breach[] = findings
    .filter(({ effect }) => effect === 'boot stopped')
    .map(({ plugin, rule, route }) => ({ plugin, rule, url: route.slice(route.indexOf(' /') + 1) }))
    .filter(({ url }) => url.startsWith('/'))
  const isEarlier = ({ rule }: Breach) => rule === 'registration'
  const others = stopping.filter((breach) => !isEarlier(breach))
  const whole = others.filter(({ plugin }) => plugin !== 'conventions' && !exceptsRules.has(plugin))
  return [
    ...[...exceptsRules].flatMap((name) =>
      member(`${name}: {`, optionsOf(others.filter(({ plugin }) => plugin === name)), '},'),
    ),
    ...exceptions('exceptions', whole, urlOf, ({ plugin }) => plugin),
    ...exceptions('earlierRoutes', stopping.filter(isEarlier), urlOf),
  ]
}

function optionsOf(breaches: readonly Breach[]): string[] {
  const off = [...groupsOf(breaches, ({ rule }) => rule)]
    .filter(([, found]) => groupsOf(found, prefixOf).size > maxPlaces)
    .map(([rule]) => rule)
  const rest = breaches.filter(({ rule }) => !off.includes(rule))
  const modes = off.map((rule) => `${/^\w+$/.test(rule) ? rule : quoted(rule)}: 'off'`)
  return [
    ...(modes.length === 0 ? [] : [`rules: { ${modes.join(', ')} },`]),
    ...exceptions('exceptions', rest, prefixOf, ({ rule }) => rule),
  ]
}

function exceptions(
  name: string,
  breaches: readonly Breach[],
  placeOf: (breach: Breach) => string,
  exceptOf?: (breach: Breach) => string,
): string[] {
  const lines = [...groupsOf(breaches, placeOf)].map(([place, found]) => {
    const url = groupsOf(found, urlOf).size === 1 ? found[0].url : `${place}/*`
    const names = [...new Set(exceptOf && found.map(exceptOf))].map(quoted).join(', ')
    return `{ url: ${quoted(url)}, ${names && `except: [${names}], `}reason: 'older than the conventions' },`
  })
  return member(`${name}: [`, lines, '],')
}

function urlOf({ url }: Breach): string {
  return url
}

function prefixOf({ url }: Breach): string {
  return url.replace(/\/[^/]*[:*].*$/, '') || url
}

function member(open: string, lines: readonly string[], close: string): string[] {
  return lines.length === 0 ? [] : [open, ...lines.map((line) => `  ${line}`), close]
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
