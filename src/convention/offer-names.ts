import type { FastifyInstance } from 'fastify'
import type { Mode } from '../report/modes.js'
import { reporterOf } from '../report/report.js'
import { type Decorated, decorateUnlessTaken } from './slots.js'

type NamedMember = { readonly value: unknown } | { readonly get: (this: never) => unknown }

interface OfferedNames {
  readonly plugin: string
  readonly mode: Mode
  readonly owner: Decorated
  readonly members: Readonly<Record<string, NamedMember>>
}

/**
 * Decorates the app, its requests or its replies, in each mode: code that calls the names runs. A name that the app has
 * already is a finding of the rule `decorators`. `docs/decorators.md` lists all names.
 *
 * @returns says that a route relies on a name: if it is one of the app there, the app does not boot with `enforce`
 */
export function offerNames(app: FastifyInstance, { plugin, mode, owner, members }: OfferedNames) {
  const reporter = reporterOf(app)
  const taken = Object.keys(members).filter(
    (name) => !decorateUnlessTaken(app, owner, name, decoratorOf(name, members[name] as NamedMember)),
  )
  const needed: { readonly route: string; readonly name: string }[] = []
  reporter.checkAtReady(function findTakenNames() {
    if (mode === 'off') return
    const finding = { plugin, rule: 'decorators' }
    for (const { route, name } of needed) {
      const problem = `relies on ${owner}.${name} of ${plugin}, and that is a decorator of the app`
      const instead = 'another name for the decorator of the app'
      reporter.addFinding({ ...finding, route, mode, problem, instead })
    }
    for (const name of taken) {
      if (needed.some((one) => one.name === name)) continue
      const problem = `${owner}.${name} is a decorator of the app, which keeps it: that of ${plugin} is not there`
      const instead = 'nothing, or another name for the decorator of the app'
      reporter.addFinding({ ...finding, route: '(all)', mode: 'report', problem, instead }, 'none')
    }
  })
  return (route: string, name: string): void => {
    if (taken.includes(name)) needed.push({ route, name })
  }
}

function decoratorOf(name: string, member: NamedMember): unknown {
  // Fastify assigns a value that a context below decorates its requests with.
  function setter(this: object, own: unknown): void {
    Object.defineProperty(this, name, { value: own, writable: true, configurable: true, enumerable: true })
  }
  return 'value' in member ? member.value : { getter: member.get, setter }
}
