import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import { appKey } from '../convention/contexts.js'
import { closeFailedApp } from '../convention/failed-boot.js'
import { routeNameOf } from '../convention/route-name.js'
import { appSlot } from '../convention/slots.js'
import { kept } from '../kept.js'
import { clip, counted, groupsOf } from '../text.js'
import type { ConventionsReport, Exception, Finding, Observation, Observed } from './findings.js'
import { findingsTable } from './format-report.js'

/** Collects what plugins find. A context and all contexts below it share one. */
export class Reporter {
  readonly face = { report: () => this.report() }
  readonly #routes = new Set<string>()
  readonly #findings: Finding[] = []
  readonly #exceptions: Exception[] = []
  readonly #checks: (() => void)[] = []
  readonly #notes: (() => string)[] = []
  // Bounded: rules are few, and routes are counted by pattern.
  readonly #observations = new Map<string, Observation>()
  // Bounded: routes by pattern, names of headers, and the texts of this package.
  readonly #noted = new Set<string>()

  addRoute(name: string): void {
    this.#routes.add(name)
  }

  addFinding(finding: Omit<Finding, 'effect'>, effect: Finding['effect'] = 'boot stopped'): void {
    this.#findings.push({ ...finding, effect })
  }

  addException(exception: Exception): void {
    this.#exceptions.push(exception)
  }

  /** Logs a warning about the route of a request; once, however many requests cause it. */
  warnOnce(plugin: string, request: FastifyRequest, message: string): void {
    const text = `${plugin}: ${routeNameOf(request)}: ${message}`
    if (this.#isNew(text)) logOf(request)?.warn(text)
  }

  /** Logs a line when the app is ready, unless the text is empty. */
  note(textOf: () => string): void {
    this.#notes.push(textOf)
  }

  /** Runs a check when the app gets ready, because routes and schemas are complete only then. */
  checkAtReady(check: () => void): void {
    this.#checks.push(check)
  }

  /** Counts a breach by a request, and logs the first one. */
  observe(
    plugin: string,
    rule: string,
    request: FastifyRequest,
    given: string,
    does: Observed,
    logged: 'each rule' | 'each route' = 'each rule',
  ): void {
    const route = routeNameOf(request)
    const key = `${plugin}.${rule} ${does} ${route}`
    const before = this.#observations.get(key)
    if (before !== undefined) {
      this.#observations.set(key, { ...before, count: before.count + 1 })
      return
    }
    const effect = typeof does === 'number' ? { effect: 'refused' as const, status: does } : { effect: does }
    const example = clip(given, maxExample)
    this.#observations.set(key, { plugin, rule, route, ...effect, count: 1, example, requestId: request.id })
    const convention = `${plugin}.${rule}`
    if (this.#isNew(convention) || logged === 'each route')
      logOf(request)?.warn({ convention, route, ...effect, example }, 'convention not kept')
  }

  report(): ConventionsReport {
    return {
      routes: [...this.#routes],
      findings: [...this.#findings],
      exceptions: [...this.#exceptions],
      observations: [...this.#observations.values()],
    }
  }

  /** Runs the checks, logs the findings in `report` mode, and returns those that stop the boot. */
  conclude(app: FastifyInstance): Finding[] {
    for (const check of this.#checks.splice(0)) check()
    const notes = this.#notes.splice(0).map((textOf) => textOf())
    const log = logOf(app)
    const reported = this.#findings.filter(({ mode }) => mode === 'report')
    for (const [convention, found] of groupsOf(reported, ({ plugin, rule }) => `${plugin}.${rule}`)) {
      const [{ effect, route, problem, instead }] = found
      const first = { convention, effect, count: found.length, route, problem, instead }
      log?.warn(first, `conventions: not kept in ${routesOf(found)}`)
    }
    for (const note of notes) if (note !== '') log?.info(`conventions: ${note}`)
    for (const exception of this.#exceptions) log?.debug(exception, 'conventions: exception')
    return this.#findings.filter(({ mode }) => mode === 'enforce')
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
  if (app.hasDecorator('conventions')) {
    const problem = 'app.conventions is a decorator of the app, which keeps it'
    const instead = 'conventionsReport(app) in place of app.conventions.report()'
    const finding = { plugin: 'conventions', rule: 'decorators', route: '(all)', problem, instead } as const
    reporter.addFinding({ ...finding, mode: 'report' }, 'none')
  } else app.decorate<unknown>('conventions', reporter.face)
  const reporters = kept(pending, appKey(app), () => new Map<Reporter, FastifyInstance>())
  reporters.set(reporter, app)
  // All contexts are complete by then, so the first hook concludes for all of them.
  app.addHook('onReady', function concludeFindings(done) {
    try {
      concludeAll(reporters)
    } catch (error) {
      closeFailedApp(app)
      throw error
    }
    done()
  })
  return reporter
}

/**
 * Returns what the conventions of a context found so far, as `app.conventions.report()` does: for apps that have a decorator
 * of their own with the name `conventions`. `null` for a context without conventions.
 */
export function conventionsReport(app: FastifyInstance): ConventionsReport | null {
  return reporterSlot.get(app)?.report() ?? null
}

function concludeAll(reporters: Map<Reporter, FastifyInstance>): void {
  const refused = [...reporters].flatMap(([reporter, app]) => reporter.conclude(app))
  reporters.clear()
  if (refused.length === 0) return
  const breaches = counted(refused.length, 'breach', 'breaches')
  const summary = `${breaches} of conventions in ${routesOf(refused)}`
  throw new bootErrors.FST_CONV_FINDINGS(`${summary}\n\n${findingsTable(refused)}\n`)
}

function routesOf(findings: readonly Finding[]): string {
  return counted(new Set(findings.map(({ route }) => route)).size, 'route')
}

/** Returns the logger of an app or a request for the lines of this package; `null` if the app has none. */
export function logOf({ log }: Pick<FastifyRequest, 'log'>): FastifyBaseLogger | null {
  // Where an app has no logger, Fastify's has no level.
  return (log.level as string | undefined) === undefined ? null : log.child({ module: 'fastify-conventions' })
}
