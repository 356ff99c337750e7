import { AssertionError } from 'node:assert'
import type { FastifyInstance } from 'fastify'
import {
  flag,
  functionOf,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  resolveOptions,
} from '../options.js'
import { hiddenReason, matchesUrl, type RouteException, routeException } from '../report/modes.js'
import { conventionsReport } from '../report/report.js'
import { appPaths, type ParameterValue, type ProbedApp, pathFiller, sender } from './probed-app.js'
import {
  type ProbeRule,
  probeMaintenance,
  probeMethods,
  probeNoRoute,
  probeOf,
  probeRead,
  probeRules,
  probeSpelling,
  probeWrites,
  type Verdict,
} from './probes.js'

export type { InjectedResponse, ParameterValue, ProbedApp, ProbeRequest } from './probed-app.js'
export type { ProbeRule, Verdict } from './probes.js'

const options = {
  /**
   * Header fields of each request, such as `authorization`.
   * @default {}
   */
  headers: option<Readonly<Record<string, string>>>(
    (label, received) =>
      isObject(received) && Object.values(received).every((value) => typeof value === 'string')
        ? (received as Record<string, string>)
        : invalid(label, 'an object of texts', received),
    {},
  ),
  /**
   * Returns the value of a path parameter of an item that exists, by the name of the parameter and the path pattern;
   * `undefined` to take the `id` of the first item of the list above.
   * @default the ids of first items
   */
  params: option(functionOf<ParameterValue>('a function (name, url) => string | undefined'), () => undefined),
  /**
   * The rules to probe.
   * @default all
   */
  rules: option(listOf(oneOf(...probeRules)), probeRules),
  /**
   * Routes that are not probed, or some rules on them.
   * @default []
   */
  exceptions: option<readonly RouteException<ProbeRule>[]>(listOf(routeException(probeRules)), []),
  /**
   * Whether POST, PUT, PATCH and DELETE are sent to routes that have them, with bodies that cannot be read and with
   * preconditions that fail. An app that keeps the conventions carries none of them out; another one may change its data.
   * @default false
   */
  writes: option(flag, false),
}

/** Options of {@link probeConventions} and {@link assertConventions}. */
export interface ProbeOptions extends OptionsOf<typeof options> {}

/** What the probes have found. */
export interface ProbeReport {
  /** All clauses that were probed. */
  readonly verdicts: readonly Verdict[]
  /** The clauses that a route does not keep. */
  readonly broken: readonly Verdict[]
  /**
   * Paths whose responses were not probed, because no item is known for a parameter; with `?limit`, lists whose pages were
   * not, because `limit` has no effect.
   */
  readonly notProbed: readonly string[]
  /** Returns the broken clauses as a text, a line each. */
  toString(): string
}

/**
 * Sends requests to all routes of an app, by `inject()`, and returns which conventions their responses keep: errors (404,
 * 405, malformed URLs), spelling of paths, `ETag` and conditional requests, HEAD, `fields`, lists, exact integers, security
 * headers, and maintenance if the app has the plugin. It reads nothing but responses, so it works for any Fastify app.
 *
 * Requests are GET, HEAD and OPTIONS, and methods that a path does not have; see `writes`. Give the app a quota that is large
 * enough: about 25 requests for each path. Not for an app with data that must not be read.
 *
 * @throws Error if a request is answered with 429
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export async function probeConventions(app: ProbedApp, given?: ProbeOptions): Promise<ProbeReport> {
  const { headers, params, rules, exceptions, writes } = resolveOptions('probeConventions', given, options)
  await app.ready()
  const all: Verdict[] = []
  const notProbed: string[] = []
  const paths = appPaths(app.printRoutes())
  const methodsOf = (url: string) => new Set(paths.flatMap((path) => (path.url === url ? path.methods : [])))
  const send = sender(app, headers)
  const fill = pathFiller(send, paths, params)
  const hidden = hiddenPaths(app)
  const isExcepted = (url: string, rule: ProbeRule) =>
    !rules.includes(rule) ||
    (rulesOfShape.has(rule) && hidden.has(url)) ||
    exceptions.some(
      ({ url: pattern, except = probeRules }) => matchesUrl(pattern, url) && except.includes(rule),
    )

  await probeNoRoute(probeOf(send, all))
  for (const path of paths) {
    const { url } = path
    if (probeRules.every((rule) => isExcepted(url, rule))) continue
    const target = await fill(path)
    if (target === null) {
      notProbed.push(url)
      continue
    }
    const probe = probeOf(send, all, path, target)
    await probeMethods(probe, methodsOf(url))
    if (path.methods.includes('GET')) {
      await probeSpelling(probe)
      await probeRead(probe)
      if (probe.isUnpaged && !isExcepted(url, 'lists')) notProbed.push(`${url}?limit`)
    }
    if (writes) await probeWrites(probe)
  }
  await inMaintenance(app, () => probeMaintenance(probeOf(send, all)))

  const verdicts = all.filter(({ url, rule }) => !isExcepted(url, rule))
  const broken = verdicts.filter(({ received }) => received !== null)
  return { verdicts, broken, notProbed, toString: () => textOf(verdicts.length, broken, notProbed) }
}

/**
 * Throws if a route of an app breaks a convention, see {@link probeConventions}. For the tests of an app:
 *
 * ```ts
 * test('all routes keep the conventions', async () => {
 *   await assertConventions(await buildApp(), { headers: { authorization: `Bearer ${token}` } })
 * })
 * ```
 *
 * @returns what was probed
 * @throws AssertionError with a line for each clause that a route does not keep
 */
export async function assertConventions(app: ProbedApp, options?: ProbeOptions): Promise<ProbeReport> {
  const report = await probeConventions(app, options)
  if (report.broken.length > 0)
    throw new AssertionError({ message: String(report), stackStartFn: assertConventions })
  return report
}

// What is not about the document holds for a route that the document does not show, too.
const rulesOfShape: ReadonlySet<ProbeRule> = new Set([
  'pathGuard',
  'fields',
  'integerTwins',
  'lists',
  'responseRules',
])

/** Returns the paths of routes that are hidden from the document (`schema.hide`), if the app has the conventions. */
function hiddenPaths(app: ProbedApp): ReadonlySet<string> {
  const exceptions = conventionsReport(app as FastifyInstance)?.exceptions ?? []
  const hidden = exceptions.filter(({ reason }) => reason === hiddenReason)
  return new Set(hidden.map(({ route }) => route.slice(route.lastIndexOf(' ') + 1)))
}

/** Runs probes while the app is in maintenance, if it has the plugin. */
async function inMaintenance(app: ProbedApp, probe: () => Promise<void>): Promise<void> {
  const maintenance: unknown = Reflect.get(app, 'maintenance')
  if (!isObject(maintenance)) return
  const { enable, disable } = maintenance
  if (typeof enable !== 'function' || typeof disable !== 'function') return
  await enable.call(maintenance)
  try {
    await probe()
  } finally {
    await disable.call(maintenance)
  }
}

function textOf(count: number, broken: readonly Verdict[], notProbed: readonly string[]): string {
  const lines = broken.map(
    ({ rule, url, request, expected, received }) =>
      `${rule} ${url}\n  request: ${request}\n  expected: ${expected}\n  received: ${received}`,
  )
  const left = notProbed.map((url) => {
    const why = url.endsWith('?limit') ? '`limit` has no effect' : 'no item is known'
    return `not probed, because ${why}: ${url}`
  })
  return [`${broken.length} of ${count} clauses are broken`, ...lines, ...left].join('\n')
}
