import type { FastifyInstance, RouteOptions } from 'fastify'
import { addProblemSchema, type RouteDescription, withDescriptions } from '../problem/route-description.js'
import { reporterOf } from '../report/report.js'
import { type DocumentOperation, openApiOf, operationOf, withOptionalBody } from '../schema/openapi.js'
import { appKey } from './contexts.js'
import { completeDocuments } from './internals.js'

/** What a convention adds to the operation of a route in the OpenAPI document. */
export interface DocumentPlan {
  /** What it adds to the responses and parameters. */
  readonly describe?: RouteDescription | readonly RouteDescription[] | undefined
  /** Completes the operation. */
  readonly document?: DocumentOperation | undefined
}

type Plans = { readonly plugin: string; planOf(): DocumentPlan }[]

interface DocumentedRoute {
  readonly method: string
  readonly url: string
  readonly plans: Plans
}

interface Documented {
  /** By method and URL. Of routes that differ in constraints, @fastify/swagger shows the last one. */
  readonly routes: Map<string, DocumentedRoute>
  readonly contexts: Set<FastifyInstance>
}

const documentedIn = new WeakMap<object, Documented>()
const plansOf = new WeakMap<RouteOptions, Plans>()

// One completes the schemas that the next one reads. The order of the others does not matter.
const order = ['lists', 'fields', 'integerTwins', 'operations', 'formats']

/** Adds a plan to a route. Call it from an `onRoute` hook. The plan is read when a document is made. */
export function documentRoute(
  context: FastifyInstance,
  route: RouteOptions,
  plugin: string,
  planOf: () => DocumentPlan,
): void {
  const { routes, contexts } = documentedOf(context)
  contexts.add(context)
  const plans = plansOf.get(route) ?? []
  plansOf.set(route, plans)
  plans.push({ plugin, planOf })
  const { url } = route
  for (const method of [route.method].flat()) routes.set(`${method} ${url}`, { method, url, plans })
}

/** Gives the HEAD route of a GET route the plans of that one. */
export function documentHeadRoute(context: FastifyInstance, get: RouteOptions, { url }: RouteOptions): void {
  const plans = plansOf.get(get)
  if (plans === undefined) return
  documentedOf(context).routes.set(`HEAD ${url}`, { method: 'HEAD', url, plans })
}

function documentedOf(app: FastifyInstance): Documented {
  const known = documentedIn.get(appKey(app))
  if (known !== undefined) return known
  const documented: Documented = { routes: new Map(), contexts: new Set() }
  documentedIn.set(appKey(app), documented)
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
      completeDocuments(context, (document) => completeDocument(document, documented.routes.values()))
    }
    done()
  })
  return documented
}

function descriptionsOf(plans: Plans): RouteDescription[] {
  return plans.flatMap(({ planOf }) => planOf().describe ?? [])
}

function completeDocument(document: object, routes: Iterable<DocumentedRoute>): void {
  const openapi = openApiOf(document)
  if (openapi === null) return
  let reference: string | undefined
  const problem = (): string => {
    reference ??= addProblemSchema(openapi)
    return reference
  }
  for (const { method, url, plans } of routes) {
    const found = operationOf(openapi.document, method, url)
    if (found === null) continue
    const sorted = plans.toSorted((one, other) => order.indexOf(one.plugin) - order.indexOf(other.plugin))
    let { operation } = found
    for (const { planOf } of sorted) operation = planOf().document?.(operation, openapi) ?? operation
    found.item[method.toLowerCase()] = withDescriptions(operation, descriptionsOf(plans), problem)
  }
  for (const item of Object.values(openapi.document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item))
      item[method] = withOptionalBody(operation, openapi.reader)
  }
}
