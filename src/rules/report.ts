import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import { clip } from '../text.js'
import { type Exception, type Finding, findingsTable, type Observation } from './findings.js'

/** What the conventions found: at boot, and in `report` mode while requests came in. */
export interface ConventionsReport {
  /** Routes that break a rule in `report` mode. (In `enforce` mode the app does not boot.) */
  readonly findings: readonly Finding[]
  /** Declared exceptions and routes that are left alone. */
  readonly exceptions: readonly Exception[]
  /** What requests would have been refused, changed or added to, per rule and route. */
  readonly observations: readonly Observation[]
}

declare module 'fastify' {
  interface FastifyInstance {
    /** What the conventions of this context found. */
    conventions: {
      /** A snapshot of the findings, exceptions and observations so far. */
      report(): ConventionsReport
    }
  }
}

/** Where plugins put what they find. One for a context and all below it. */
export class Reporter {
  readonly #findings: Finding[] = []
  readonly #exceptions: Exception[] = []
  readonly #checks: (() => void)[] = []
  readonly #tellings: (() => void)[] = []
  // Bounded: rules are few, and routes are counted by pattern.
  readonly #observations = new Map<string, Observation>()

  find(finding: Finding): void {
    this.#findings.push(finding)
  }

  except(exception: Exception): void {
    this.#exceptions.push(exception)
  }

  /** Takes a check for when the app gets ready, before the findings are concluded: for what is complete only then. */
  checkAtReady(check: () => void): void {
    this.#checks.push(check)
  }

  /** Takes what is to be told when all checks are done: for what only all routes together can say. */
  tellAfterChecks(tell: () => void): void {
    this.#tellings.push(tell)
  }

  /** Counts an occurrence; the first of each rule and route is logged. */
  observe(plugin: string, rule: string, request: FastifyRequest, given: string): void {
    const route = request.routeOptions.url ?? '*'
    const key = `${plugin}.${rule} ${route}`
    const before = this.#observations.get(key)
    const observation: Observation = before
      ? { ...before, count: before.count + 1 }
      : { plugin, rule, route, count: 1, example: clip(given, longestExample), requestId: request.id }
    this.#observations.set(key, observation)
    if (before) return
    const { example } = observation
    request.log.warn({ convention: `${plugin}.${rule}`, route, example }, 'convention not kept')
  }

  report(): ConventionsReport {
    return {
      findings: [...this.#findings],
      exceptions: [...this.#exceptions],
      observations: [...this.#observations.values()],
    }
  }

  /** Runs the checks, logs what is only told, and gives the findings that stop the boot. */
  conclude(app: FastifyInstance): Finding[] {
    for (const check of this.#checks.splice(0)) check()
    for (const tell of this.#tellings.splice(0)) tell()
    const told = this.#findings.filter((finding) => finding.mode === 'report')
    if (told.length > 0) app.log.warn(`conventions: ${summary(told)}\n${findingsTable(told)}`)
    for (const exception of this.#exceptions) app.log.debug(exception, 'conventions: exception')
    for (const { route, plugin, rules } of this.#exceptions.filter((exception) => exception.unused)) {
      app.log.warn(`conventions: ${route} keeps ${plugin}.${rules.join(', ')}: its exception can go`)
    }
    return this.#findings.filter((finding) => finding.mode === 'enforce')
  }
}

const longestExample = 300

const key = Symbol.for('fastify-conventions.reporter')

/** The reporters of each app that are yet to be concluded, and their contexts; an app is known by its configuration. */
const pending = new WeakMap<object, Map<Reporter, FastifyInstance>>()

/** The reporter of a context: that of the context above, or a new one. */
export function reporterOf(app: FastifyInstance): Reporter {
  const known = (app as { readonly [key]?: Reporter })[key]
  if (known !== undefined) return known
  const reporter = new Reporter()
  app.decorate(key, reporter)
  app.decorate('conventions', { report: () => reporter.report() })
  const reporters = pending.get(app.initialConfig) ?? new Map<Reporter, FastifyInstance>()
  pending.set(app.initialConfig, reporters.set(reporter, app))
  // All contexts are complete by then: the first one also says what is wrong in those beside it.
  app.addHook('onReady', function concludeFindings(done) {
    concludeAll(reporters)
    done()
  })
  return reporter
}

/** Throws all findings that stop the boot as one table. */
function concludeAll(reporters: Map<Reporter, FastifyInstance>): void {
  const refused = [...reporters].flatMap(([reporter, app]) => reporter.conclude(app))
  reporters.clear()
  if (refused.length > 0) {
    throw new bootErrors.FST_CONV_FINDINGS(`${summary(refused)}\n\n${findingsTable(refused)}\n`)
  }
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

function summary(findings: readonly Finding[]): string {
  const routes = new Set(findings.map((finding) => finding.route)).size
  return `${counted(findings.length, 'breach', 'breaches')} of conventions in ${counted(routes, 'route', 'routes')}`
}
