import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import { appKey } from '../fastify/internals.js'
import { appSlot } from '../fastify/slots.js'
import { clip } from '../text.js'
import { type Exception, type Finding, findingsTable, type Observation } from './findings.js'

/** What the conventions found at boot, and by requests in `report` mode. */
export interface ConventionsReport {
  /** Routes that break a rule in `report` mode. (In `enforce` mode the app does not boot.) */
  readonly findings: readonly Finding[]
  /** Declared exceptions, and routes that no rule applies to. */
  readonly exceptions: readonly Exception[]
  /** What would have been refused, changed or added, per rule and route. */
  readonly observations: readonly Observation[]
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The report of the conventions in this context. */
    conventions: {
      /** Returns a snapshot of the findings, exceptions and observations so far. */
      report(): ConventionsReport
    }
  }
}

/** Collects what plugins find. A context and all contexts below it share one. */
export class Reporter {
  readonly #findings: Finding[] = []
  readonly #exceptions: Exception[] = []
  readonly #checks: (() => void)[] = []
  readonly #afterChecks: (() => void)[] = []
  // Bounded: rules are few, and routes are counted by pattern.
  readonly #observations = new Map<string, Observation>()
  // Bounded: routes by pattern, names of headers, and the texts of this package.
  readonly #noted = new Set<string>()

  /** Adds a breach that was found at boot. */
  addFinding(finding: Finding): void {
    this.#findings.push(finding)
  }

  /** Adds an exception that was declared, or a route that no rule applies to. */
  addException(exception: Exception): void {
    this.#exceptions.push(exception)
  }

  /** Adds an exception that requests show; once, however many do. */
  addExceptionOnce(exception: Exception): void {
    const { plugin, route, rules, reason } = exception
    if (this.#isNew(`${plugin} ${route} ${rules.join()} ${reason}`)) this.addException(exception)
  }

  /** Logs a warning about the route of a request; once, however many requests cause it. */
  warnOnce(plugin: string, { routeOptions: { url = '*' }, log }: FastifyRequest, message: string): void {
    const text = `${plugin}: ${url}: ${message}`
    if (this.#isNew(text)) log.warn(text)
  }

  /** Runs a check when the app gets ready, because routes and schemas are complete only then. */
  checkAtReady(check: () => void): void {
    this.#checks.push(check)
  }

  /** Runs a callback after all checks, for rules about all routes together. */
  afterChecks(callback: () => void): void {
    this.#afterChecks.push(callback)
  }

  /**
   * Counts a breach by a request, and logs the first one of each rule and route.
   *
   * @param given what broke the rule, without values of a body
   */
  observe(plugin: string, rule: string, request: FastifyRequest, given: string): void {
    const route = request.routeOptions.url ?? '*'
    const key = `${plugin}.${rule} ${route}`
    const before = this.#observations.get(key)
    const observation: Observation = before
      ? { ...before, count: before.count + 1 }
      : { plugin, rule, route, count: 1, example: clip(given, maxExample), requestId: request.id }
    this.#observations.set(key, observation)
    if (before) return
    const { example } = observation
    request.log.warn({ convention: `${plugin}.${rule}`, route, example }, 'convention not kept')
  }

  /** Returns a snapshot of everything found so far. */
  report(): ConventionsReport {
    return {
      findings: [...this.#findings],
      exceptions: [...this.#exceptions],
      observations: [...this.#observations.values()],
    }
  }

  /** Runs the checks, logs the findings in `report` mode, and returns those that stop the boot. */
  conclude(app: FastifyInstance): Finding[] {
    for (const check of this.#checks.splice(0)) check()
    for (const callback of this.#afterChecks.splice(0)) callback()
    const reported = this.#findings.filter((finding) => finding.mode === 'report')
    if (reported.length > 0) app.log.warn(`conventions: ${summary(reported)}\n${findingsTable(reported)}`)
    for (const exception of this.#exceptions) app.log.debug(exception, 'conventions: exception')
    for (const { route, plugin, rules } of this.#exceptions.filter((exception) => exception.unused)) {
      app.log.warn(`conventions: ${route} keeps ${plugin}.${rules.join(', ')}: the exception can be removed`)
    }
    return this.#findings.filter((finding) => finding.mode === 'enforce')
  }

  #isNew(text: string): boolean {
    if (this.#noted.has(text)) return false
    this.#noted.add(text)
    return true
  }
}

const maxExample = 300

const reporterSlot = appSlot<Reporter>('reporter')

// The reporters whose checks have not run yet, with their contexts, by the configuration object of their app.
const pending = new WeakMap<object, Map<Reporter, FastifyInstance>>()

/** Returns the reporter of a context: that of the context above, or a new one. */
export function reporterOf(app: FastifyInstance): Reporter {
  const known = reporterSlot.get(app)
  if (known !== undefined) return known
  const reporter = new Reporter()
  reporterSlot.set(app, reporter)
  app.decorate('conventions', { report: () => reporter.report() })
  const reporters = pending.get(appKey(app)) ?? new Map<Reporter, FastifyInstance>()
  pending.set(appKey(app), reporters.set(reporter, app))
  // All contexts are complete by then, so the first hook concludes for all of them.
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
