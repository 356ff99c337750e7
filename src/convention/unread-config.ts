import { isObject } from '../options.js'
import type { Reporter } from '../report/report.js'
import { clip } from '../text.js'
import { type Declared, presetName, type Watcher } from './declared-routes.js'
import { conventionNames } from './order.js'
import { routeSlot } from './slots.js'

/** Marks a route of a plugin of this package: it has options for conventions that need not be registered. */
export const routeOfPlugin = routeSlot<true>('routeOfPlugin')

/**
 * Finds options that nothing reads: those beside `config` in place of in it, those of a convention that is not registered, and
 * those under a misspelt name.
 * Beside the preset they stop the boot. Without it, a key of `config` may belong to the app, so that it is only reported.
 */
export function findUnreadConfig(
  { app, name: route, route: options }: Declared,
  entries: readonly Pick<Watcher, 'name' | 'mode'>[],
  reporter: Reporter,
): void {
  if (routeOfPlugin.get(options) === true) return
  const beside = Object.keys(options).filter((key) => conventionNames.has(key))
  const config = Object.entries(options.config ?? {})
  if (beside.length + config.length === 0) return
  const modes = new Map(entries.map(({ name, mode }) => [name, mode]))
  const ofPreset = modes.get(presetName)
  const names = ofPreset === undefined ? [...modes.keys()] : [...conventionNames, ...modes.keys()]
  const finding = { plugin: 'conventions', rule: 'config', route }
  for (const key of beside) {
    const mode = modes.get(key) ?? ofPreset ?? 'off'
    if (mode === 'off') continue
    const problem = `the option ${key} of a route is not read`
    reporter.addFinding({ ...finding, mode, problem, instead: `config: { ${key}: … }` })
  }
  for (const [key, value] of config) {
    if (modes.has(key)) continue
    if (conventionNames.has(key)) {
      // `false` leaves out what is not there anyway.
      const isOption = value === true || isObject(value) || Array.isArray(value)
      const other = alsoReadBy[key]
      if (!isOption || ofPreset === 'off' || (other !== undefined && app.hasPlugin(other))) continue
      const problem = `config.${key} is not read, because ${key} is not registered here`
      const instead = `register ${key}, or no config.${key}`
      const effect = ofPreset === undefined ? 'none' : 'boot stopped'
      reporter.addFinding({ ...finding, mode: ofPreset ?? 'report', problem, instead }, effect)
    } else if (value === false || isObject(value)) {
      // `config.version: '2'` is something else.
      const meant = names.find((name) => isMisspelt(key, name)) ?? ''
      const mode = modes.get(meant) ?? ofPreset ?? 'off'
      if (meant === '' || mode === 'off') continue
      const problem = `config.${clip(key, maxKey)} is not read by anything of this package`
      reporter.addFinding({ ...finding, mode, problem, instead: `config.${meant}` })
    }
  }
}

/** Plugins that read a key of the same name. */
const alsoReadBy: Readonly<Record<string, string>> = {
  cors: '@fastify/cors',
  rateLimit: '@fastify/rate-limit',
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
