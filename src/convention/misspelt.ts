import type { RouteOptions } from 'fastify'
import { isObject } from '../options.js'
import type { Reporter } from '../report/report.js'
import { clip } from '../text.js'
import type { Watcher } from './declared-routes.js'

/** Finds keys of `config` that look like the name of a convention: its options would be ignored without a word. */
export function findMisspelt(
  { name, mode }: Pick<Watcher, 'name' | 'mode'>,
  { config = {} }: RouteOptions,
  route: string,
  reporter: Reporter,
): void {
  if (mode === 'off') return
  for (const [key, value] of Object.entries(config)) {
    // Options are an object or `false`: `config.version: '2'` is something else.
    if ((value !== false && !isObject(value)) || !isMisspelt(key, name)) continue
    const problem = `config.${clip(key, maxKey)} is not read by anything of this package`
    reporter.addFinding({
      plugin: 'conventions',
      rule: 'config',
      route,
      problem,
      instead: `config.${name}`,
      mode,
    })
  }
}

const maxKey = 50

/** Whether a text is a name with up to two letters wrong; in a short name one, because two make another word. */
export function isMisspelt(text: string, name: string): boolean {
  return text !== name && isNear(text.toLowerCase(), name.toLowerCase(), name.length > shortName ? 2 : 1)
}

const shortName = 7

/** Whether at most so many letters are replaced, added, left out, or swapped with the next one. */
function isNear(one: string, other: string, most: number): boolean {
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  const [rest, wanted] = [one.slice(same), other.slice(same)]
  if (rest === wanted) return true
  if (most === 0) return false
  const isSwapped = rest[0] === wanted[1] && rest[1] === wanted[0]
  return (
    isNear(rest.slice(1), wanted.slice(1), most - 1) ||
    isNear(rest.slice(1), wanted, most - 1) ||
    isNear(rest, wanted.slice(1), most - 1) ||
    (isSwapped && isNear(rest.slice(2), wanted.slice(2), most - 1))
  )
}
