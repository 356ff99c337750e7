import type { FastifyInstance, RouteOptions } from 'fastify'
import { yamlOf } from '../json/yaml.js'
import { kept } from '../kept.js'
import { isObject } from '../options.js'
import { describer, type RouteDescription } from '../problem/route-description.js'
import { reporterOf } from '../report/report.js'
import {
  type DocumentOperation,
  nameSchemas,
  openApiOf,
  operationOf,
  withOptionalBody,
} from '../schema/openapi.js'
import { appKey, contextsAbove } from './contexts.js'

/** What a convention adds to the operation of a route in the OpenAPI document. */
export interface DocumentPlan {
  /** What it adds to the responses and parameters. */
  readonly describe?: RouteDescription | readonly RouteDescription[] | undefined
  /** Completes the operation. */
  readonly document?: DocumentOperation | undefined
}

/** The plans of a route, by the names of their plugins. */
type Plans = (readonly [plugin: string, planOf: () => DocumentPlan])[]

interface Documented {
  readonly routes: Map<RouteOptions, Plans>
  readonly contexts: Set<FastifyInstance>
}

const documentedIn = new WeakMap<object, Documented>()

// One completes the schemas that the next one reads. `operations` comes after `formats`: its documents are JSON only. The
// order of the others does not matter.
const order = ['lists', 'fields', 'integerTwins', 'formats', 'operations']

/** Adds a plan to a route. Call it from an `onRoute` hook. The plan is read when a document is made. */
export function documentRoute(
  context: FastifyInstance,
  route: RouteOptions,
  plugin: string,
  planOf: () => DocumentPlan,
): void {
  const { routes, contexts } = documentedOf(context)
  contexts.add(context)
  kept(routes, route, (): Plans => []).push([plugin, planOf])
}

/** Gives the HEAD route of a GET route the plans of that one. */
export function documentHeadRoute(context: FastifyInstance, get: RouteOptions, head: RouteOptions): void {
  const routes = documentedIn.get(appKey(context))?.routes
  const plans = routes?.get(get)
  if (plans !== undefined) routes?.set(head, plans)
}

function documentedOf(app: FastifyInstance): Documented {
  return kept(documentedIn, appKey(app), () => newDocumented(app))
}

function newDocumented(app: FastifyInstance): Documented {
  const documented: Documented = { routes: new Map(), contexts: new Set() }
  const reporter = reporterOf(app)
  reporter.checkAtReady(function findOtherDecorator() {
    if (!app.hasPlugin('@fastify/swagger') || 'swagger' in app) return
    const finding = { plugin: 'conventions', rule: 'document', route: '(all)', mode: 'report' } as const
    const problem =
      'the conventions cannot complete the document of @fastify/swagger: its decorator is not app.swagger()'
    reporter.addFinding(
      { ...finding, problem, instead: '@fastify/swagger without the option decorator' },
      'none',
    )
  })
  app.addHook('onReady', function completeDocumentsOfContexts(done) {
    for (const context of documented.contexts) {
      completeDocuments(context, (document) => completeDocument(document, documented.routes))
    }
    done()
  })
  return documented
}

/** Returns whether a convention adds anything; otherwise the document stays as it is. */
function completeDocument(document: object, routes: Documented['routes']): boolean {
  const openapi = openApiOf(document)
  if (openapi === null) return false
  const withDescriptions = describer(openapi)
  let isCompleted = false
  for (const { method, url, plans } of operationsOf(routes)) {
    const found = operationOf(openapi.document, method, url)
    if (found === null) continue
    const sorted = plans.toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other))
    let { operation } = found
    for (const [, planOf] of sorted) operation = planOf().document?.(operation, openapi) ?? operation
    const descriptions = plans.flatMap(([, planOf]) => planOf().describe ?? [])
    operation = withDescriptions(operation, descriptions)
    isCompleted ||= operation !== found.operation
    found.item[method.toLowerCase()] = operation
  }
  if (!isCompleted) return false
  for (const item of Object.values(openapi.document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item))
      item[method] = withOptionalBody(operation, openapi.reader)
  }
  nameSchemas(openapi.document)
  return true
}

/** Of routes that differ in constraints, @fastify/swagger shows the last one. */
function operationsOf(routes: Documented['routes']) {
  const all = [...routes].flatMap(([{ method: methods, url }, plans]) =>
    [methods].flat().map((method) => [`${method} ${url}`, { method, url, plans }] as const),
  )
  return new Map(all).values()
}

const documentMakers = new WeakSet<object>()

/**
 * Completes the OpenAPI documents that @fastify/swagger (checked with 9.9) makes for a context, each before anyone gets it.
 * The plugin has no hook for another plugin; it keeps the object that its decorator `swagger` returns.
 */
function completeDocuments(app: FastifyInstance, complete: (document: object) => boolean): void {
  for (const owner of contextsAbove(app)) {
    const make: unknown = Object.getOwnPropertyDescriptor(owner, 'swagger')?.value
    if (typeof make !== 'function' || documentMakers.has(make)) continue
    const completed = new WeakMap<object, boolean>()
    const makeCompleted = (options?: { readonly yaml?: boolean }): unknown => {
      const document: unknown = make()
      if (!isObject(document)) return make(options)
      const isCompleted = kept(completed, document, () => complete(document))
      if (options?.yaml !== true) return document
      return isCompleted ? yamlOf(document) : make(options)
    }
    documentMakers.add(makeCompleted)
    Object.assign(owner, { swagger: makeCompleted })
  }
}
