import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Mode } from '../rules/modes.js'
import { reporterOf } from '../rules/report.js'
import { decorated, type NameOwner } from './internals.js'
import { addYieldingNames, holderOf, type NamedMember } from './yielding-names.js'

/** A method of replies. */
export type ReplyMethod = (this: FastifyReply, ...parameters: never[]) => unknown

/** A method of the app that has the name of one of ours. */
export interface MethodConflict {
  readonly name: string
  readonly own: ReplyMethod
  readonly other: ReplyMethod
}

/** What a plugin offers to handlers and to the code of the app. `docs/decorators.md` lists all of them. */
export interface OfferedNames {
  readonly plugin: string
  /** Mode of the plugin. The names are there in each mode: code that calls them runs. */
  readonly mode: Mode
  readonly owner: NameOwner
  readonly members: Readonly<Record<string, NamedMember>>
  /** Returns a method that calls both, for methods of the app. It takes the place of the app's with `enforce`. */
  readonly merge?: (conflict: MethodConflict) => ReplyMethod
}

/** Says that a route relies on a name: if it is one of the app there, the app does not boot with `enforce`. */
export type NeedName = (context: FastifyInstance, route: string, name: string) => void

/**
 * Gives the app, its requests or its replies the names of a plugin. A decorator of the app with one of the names wins,
 * before and after; when the app gets ready, it is a finding of the rule `decorators`.
 */
export function offerNames(
  app: FastifyInstance,
  { plugin, mode, owner, members, merge }: OfferedNames,
): NeedName {
  const isOurs = addYieldingNames(app, owner, members)
  const needed: { readonly context: FastifyInstance; readonly route: string; readonly name: string }[] = []
  const contexts = new Set([app])
  if (merge !== undefined) {
    app.addHook('onRoute', function noteContext() {
      contexts.add(this)
    })
  }
  const reporter = reporterOf(app)
  reporter.checkAtReady(function findTakenNames() {
    if (mode === 'off') return
    for (const { context, route, name } of needed) {
      if (isOurs(context, name)) continue
      reporter.addFinding({
        plugin,
        rule: 'decorators',
        route,
        mode,
        problem: `relies on ${owner}.${name} of ${plugin}, and that is a decorator of the app`,
        instead: 'another name for the decorator of the app',
      })
    }
    for (const name of Object.keys(members)) {
      const isMerged = merge !== undefined && mergeAll(name, merge)
      const isNeeded = needed.some((one) => one.name === name && one.context === app)
      if (isMerged || isNeeded || isOurs(app, name)) continue
      const problem = `${owner}.${name} is a decorator of the app, which keeps it: that of ${plugin} is not there`
      const instead = 'nothing, or another name for the decorator of the app'
      const route = '(all)'
      reporter.addFinding({ plugin, rule: 'decorators', route, mode: 'report', problem, instead }, 'none')
    }
  })
  return (context, route, name) => void needed.push({ context, route, name })

  /** Merges the methods of all contexts; returns whether that of the app can be merged. */
  function mergeAll(name: string, mergeTwo: NonNullable<typeof merge>): boolean {
    const member = members[name]
    const own = (member !== undefined && 'value' in member ? member.value : undefined) as ReplyMethod
    const merged = new Set<unknown>()
    for (const context of contexts) {
      const prototype = decorated(context, owner)
      if (isOurs(context, name) || merged.has(memberOf(prototype, name))) continue
      const other = memberOf(prototype, name)
      if (typeof other !== 'function') continue
      const value = mode === 'enforce' ? mergeTwo({ name, own, other: other as ReplyMethod }) : other
      merged.add(value)
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
    }
    return merged.has(memberOf(decorated(app, owner), name))
  }
}

/** Returns a member of a prototype; `undefined` for a getter, which is not called, and for a value that is assigned. */
function memberOf(prototype: object, name: string): unknown {
  const holder = holderOf(prototype, name)
  return holder === null ? undefined : Object.getOwnPropertyDescriptor(holder, name)?.value
}
