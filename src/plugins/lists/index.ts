import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { hiddenFieldsOf } from '../../fastify/hidden-fields.js'
import { headSiblings } from '../../fastify/internals.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { needFields } from '../../fastify/needed-fields.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { hasSerializerOfTheApp } from '../../fastify/reply-serializer.js'
import { addHook } from '../../fastify/route.js'
import { decorateOnce } from '../../fastify/slots.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { type Reporter, reporterOf } from '../../rules/report.js'
import { keysOf, pageReader, requestedOf, requests, writeList } from './hooks.js'
import { missingMembers, withPaging } from './openapi.js'
import {
  declaredLimits,
  type ListRules,
  type ListsOptions,
  type ListsRouteOptions,
  listsChecks,
  listsDefaults,
  listsRouteChecks,
  timeNames,
  withinMaximum,
} from './options.js'
import type { Page } from './page.js'

export { type Keyset, type KeysetOptions, keyset } from './keyset.js'
export type { ListsOptions, ListsRouteOptions } from './options.js'
export type { Page, PageKey } from './page.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Makes the route a list with keyset paging. */
    lists?: ListsRouteOptions | false
  }
  interface FastifyRequest {
    /** The requested page of a list route. Reading it on another route throws. */
    readonly page: Page
  }
  interface FastifyReply {
    /**
     * Returns the payload of a list route, `{ "<member>": [...] }`, and sets a `Link` to the next page if there is one.
     *
     * @param rows at most `request.page.fetch` rows, in the order of `request.page`
     * @param total number of all items, if the client asks for it (`request.page.includeTotal`)
     * @throws TypeError if there is a next page, and the id or the time of the last row cannot be its cursor; if a row does
     * not lie beyond the cursor of the request and beyond the row before it
     */
    list<Row extends object>(rows: readonly Row[], total?: number | bigint): Record<string, unknown>
  }
}

/**
 * Keyset paging for list routes. `request.page` has the parameters `limit`, `before_id`, `before_time`, `after_id` and
 * `include_total`; `reply.list(rows)` returns the payload, and sets a `Link` to the next page (RFC 8288).
 * `config: { lists: {} }` makes a route a list. The parameters are added to its query schema, and so to the OpenAPI document.
 *
 * Not for lists that are sorted by a value that changes or repeats: keyset paging needs a stable order.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const lists = conventionPlugin<ListsOptions>('lists', function setUpLists(app, received) {
  const options = withinMaximum(
    'lists',
    received,
    resolveOptions('lists', received, listsChecks, listsDefaults),
  )
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  const areFree = !app.hasRequestDecorator('page') && !app.hasReplyDecorator('list')
  const decorate = decorateOnce(areFree, () => {
    requests.declare(app)
    app.decorateRequest('page', {
      getter() {
        return requestedOf(this as FastifyRequest).page as Page
      },
    })
    app.decorateReply('list', writeList)
  })

  app.addHook('onRoute', function completeListRoute(route) {
    const isSibling = isHeadSibling(route)
    if (route.config?.lists === undefined || route.config.lists === false) return
    const label = `${[route.method].flat().join(', ')} ${route.path} config.lists`
    const keyStyle = keyStyleOf(this)
    const resolved = resolveRouteOptions<ListsRouteOptions, ListRules>(
      label,
      route.config.lists,
      listsRouteChecks,
      {
        ...options,
        ...declaredLimits(route.schema, options),
        member: memberName(route.path, keyStyle),
        time: received.time ?? timeNames[keyStyle],
      },
    )
    if (resolved === false) return
    const rules = withinMaximum(label, route.config.lists, resolved)
    decorate()
    route.schema = withPaging(route.schema, rules, () => this.getSchemas() as SchemaStore)
    needFields(route, (request) => keysOf(requestedOf(request)))
    addHook(route, 'preValidation', 'lists', pageReader({ rules, reporter, hasMore: false }))
    if (!isSibling) {
      reporter.checkAtReady(() => findDroppedMembers(this, route, rules, reporter))
      findHiddenKeys(route, rules, reporter)
    }
  })
})

/** Reports a response schema without the member for the items, or without `total`: the serializer would remove them silently. */
function findDroppedMembers(
  app: FastifyInstance,
  route: RouteOptions & { readonly path: string },
  { mode, member, total }: ListRules,
  reporter: Reporter,
): void {
  if (mode === 'off' || hasSerializerOfTheApp(app, route.serializerCompiler)) return
  const members = total ? [member, 'total'] : [member]
  for (const name of missingMembers(route.schema?.response, members, app.getSchemas() as SchemaStore)) {
    reporter.addFinding({
      plugin: 'lists',
      rule: 'schema',
      route: `${[route.method].flat().join(', ')} ${route.path}`,
      problem: `the response schema of 200 has no '${name}', so it is removed from every response`,
      instead:
        name === member
          ? `properties: { ${name}: { type: 'array', items: … } }, or config.lists.member`
          : "properties: { total: { type: 'integer' } }, or config.lists.total: false",
      mode,
    })
  }
}

/** Reports a key of the list that `config.fields` hides: the `Link` to the next page would show its value. */
function findHiddenKeys(
  route: RouteOptions & { readonly path: string },
  { mode, id, time, by }: ListRules,
  reporter: Reporter,
): void {
  const hidden = hiddenFieldsOf(route)
  // A page by time also needs the id, for rows with the same time.
  const keys = by.includes('time') ? [id, time] : [id]
  for (const name of keys) {
    if (mode === 'off' || !Object.hasOwn(hidden, name)) continue
    reporter.addFinding({
      plugin: 'lists',
      rule: 'hidden',
      route: `${[route.method].flat().join(', ')} ${route.path}`,
      problem: `${name} is hidden by config.fields, and the Link to the next page shows it`,
      instead: name === id ? 'config.lists.id of a field that is not hidden' : "config.lists.by: ['id']",
      mode,
    })
  }
}
