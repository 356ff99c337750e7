import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { refuse } from '../adapter/answer.js'
import { FieldSelector } from '../adapter/field-selector.js'
import { conventionPlugin } from '../adapter/plugin.js'
import { type Reporter, reporterOf } from '../adapter/report.js'
import {
  type RouteSerialization,
  type Selection,
  selectionOfRequest,
  serializationOf,
} from '../adapter/serialization.js'
import { ProblemError } from '../errors.js'
import { type Mode, modes } from '../findings.js'
import {
  type Checks,
  integer,
  invalid,
  listOf,
  oneOf,
  resolveOptions,
  resolveRouteOptions,
  text,
} from '../options.js'
import { fieldNames, shapeWithin } from '../representation/output/projection.js'
import type { Shape } from '../representation/output/schema-shape.js'
import { withFieldsParameter } from '../representation/schema/fields-schema.js'
import { isObjectSchema } from '../representation/schema/query-schema.js'

/** Options of {@link fields}. */
export interface FieldsOptions {
  /**
   * `enforce` projects, `report` changes nothing and counts the requests that ask for it, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Most names in a selection.
   * @default 64
   */
  readonly maxNames?: number
  /**
   * Most characters of the parameter.
   * @default 1024
   */
  readonly maxLength?: number
  /**
   * Most segments of a dot path.
   * @default 4
   */
  readonly maxDepth?: number
}

/** Says of a request whether a field is hidden from it. */
export type IsHidden = (request: FastifyRequest) => boolean

/** What a route says under `config.fields`; `false` leaves the parameter alone. */
export interface FieldsRouteOptions extends FieldsOptions {
  /** Dot paths of what is answered where the request names no fields. Default: all. */
  readonly default?: readonly string[]
  /**
   * Dot paths that are never answered (`true`), or not to every request (a predicate, asked before the handler runs).
   * To whom a field is hidden it is unknown.
   */
  readonly hidden?: Readonly<Record<string, true | IsHidden>>
  /**
   * Member that holds the items of a list; the selection applies to each of them, and what stands beside it stays.
   * Default: the member of `config.lists`, else the array that is named like the path's last segment. `null`: no list.
   */
  readonly list?: string | null
}

/** Which fields a request wants, so that the handler need not read others. */
export interface FieldSelection {
  /** Names at the top of the item, in the order of the schema; what the handler has to read. */
  readonly names: readonly string[]
  /** All selected dot paths. */
  readonly paths: readonly string[]
  /** Is the field wanted, whole or in part? */
  has(path: string): boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Field selection of this route; `false` leaves the parameter alone. */
    fields?: FieldsRouteOptions | false
  }
  interface FastifyRequest {
    /** Which fields the request wants; `null` where the route selects none: then all. */
    readonly fields: FieldSelection | null
  }
}

const bounds: Checks<FieldsOptions> = {
  mode: oneOf(...modes),
  maxNames: integer(1, 10_000),
  maxLength: integer(1, 100_000),
  maxDepth: integer(1, 100),
}

const routeChecks: Checks<FieldsRouteOptions> = {
  ...bounds,
  default: listOf(text()),
  hidden: checkHidden,
  list: (label, received) => (received === null ? null : text()(label, received)),
}

const defaults: Required<FieldsOptions> = { mode: 'enforce', maxNames: 64, maxLength: 1024, maxDepth: 4 }

/**
 * Field selection (seed §4 "Query parameters"): `GET ...?fields=name,address.city` answers just those fields, of an item
 * or of each item of a list. The names are those of the route's response schema; projection is compiled from it, so a
 * selection can only narrow what the schema allows. Routes without a JSON response schema are left alone.
 *
 * `request.fields` tells the handler what is wanted. Unknown names are a 400 problem `fields-invalid`.
 *
 * Not for clients that need a shape of their own: a selection has no aliases, no arguments and no joins.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration, and
 * FST_CONV_OPTION_INVALID when the app gets ready, for a default or hidden field that the schema does not have
 */
export const fields = conventionPlugin<FieldsOptions>('fields', function setUpFields(app, received) {
  const options = resolveOptions('fields', received, bounds, defaults)
  const reporter = reporterOf(app)
  const selectors: RouteSelector[] = []

  let decorated = false
  if (!app.hasRequestDecorator('fields')) decorateOnce()

  app.addHook('onRoute', function selectOnRoute(route) {
    if (![route.method].flat().some(isRead)) return
    const label = `${[route.method].flat().join(', ')} ${route.path} config.fields`
    const own = resolveRouteOptions<FieldsRouteOptions, Required<FieldsOptions> & FieldsRouteOptions>(
      label,
      route.config?.fields,
      routeChecks,
      options,
    )
    if (own === false || own.mode === 'off') return
    if (!isObjectSchema(route.schema?.response)) {
      if (own.hidden !== undefined) invalid(`${label}.hidden`, 'a route with response schemas', own.hidden)
      return
    }
    if (own.mode === 'report') {
      route.preHandler = [...[route.preHandler ?? []].flat(), fieldsObserver(reporter)]
      return
    }
    decorateOnce()
    route.schema = withFieldsParameter(route.schema, own.default ?? null)
    const selector = new RouteSelector(label, own, listNames(route, own), serializationOf(this, route))
    selectors.push(selector)
    route.preHandler = [...[route.preHandler ?? []].flat(), selector.select]
  })
  app.addHook('onReady', function prepareSelectors(done) {
    for (const selector of selectors) selector.check()
    done()
  })

  // An app in which no route selects may have names of its own; otherwise Fastify tells that they are taken.
  function decorateOnce(): void {
    if (decorated) return
    decorated = true
    app.decorateRequest(selectionOfRequest, null)
    app.decorateRequest('fields', {
      getter() {
        return (this as unknown as { [selectionOfRequest]: Selection | null })[selectionOfRequest]
      },
    })
  }
})

/** Reads the selection of each request to a route. */
class RouteSelector {
  readonly #label: string
  readonly #options: Required<FieldsOptions> & FieldsRouteOptions
  readonly #lists: readonly string[]
  readonly #serialization: RouteSerialization
  #hidden: readonly (readonly [string, true | IsHidden])[]
  #selector: FieldSelector | null = null
  #prepared = false

  /** @param lists names that the member with the items of a list may have, the likeliest first */
  constructor(
    label: string,
    options: Required<FieldsOptions> & FieldsRouteOptions,
    lists: readonly string[],
    serialization: RouteSerialization,
  ) {
    this.#label = label
    this.#options = options
    this.#lists = lists
    this.#serialization = serialization
    this.#hidden = Object.entries(options.hidden ?? {})
  }

  /** Reads the response schema at boot where the route's options name fields of it; otherwise when first asked. */
  check(): void {
    const { default: defaults, hidden, list } = this.#options
    if (defaults !== undefined || hidden !== undefined || typeof list === 'string') this.#prepare()
  }

  #prepare(): void {
    this.#prepared = true
    this.#serialization.prepare()
    const top = this.#serialization.writerFor(200)?.shape
    if (top === undefined) {
      this.#cannotSelect()
      return
    }
    const { list: named } = this.#options
    if (typeof named === 'string' && shapeWithin(top, [named])?.kind !== 'array') {
      invalid(`${this.#label}.list`, 'an array of the response schema', named)
    }
    const list = this.#lists.find((name) => shapeWithin(top, [name])?.kind === 'array')
    const within = list === undefined ? [] : [list]
    const shape = shapeWithin(top, within) as Shape
    if (fieldNames(shape).length === 0) {
      this.#cannotSelect()
      return
    }
    const selector = new FieldSelector(shape, within, this.#options, this.#options.default ?? null)
    for (const name of ['default', 'hidden'] as const) {
      const paths = name === 'default' ? (this.#options.default ?? []) : this.#hidden.map(([path]) => path)
      const [unknown] = selector.unknown(paths)
      if (unknown !== undefined) invalid(`${this.#label}.${name}`, 'fields of the response schema', unknown)
    }
    this.#hidden = this.#hidden.map(([path, hides]) => [selector.canonical(path), hides])
    this.#selector = selector
  }

  // A field that nobody can hide must not be declared hidden.
  #cannotSelect(): void {
    const [path] = this.#hidden[0] ?? []
    if (path === undefined) return
    invalid(`${this.#label}.hidden`, 'none, for no response schema of 200 names the fields', path)
  }

  /** The `preHandler` hook. Here a hook of the app has found out who the caller is, and the handler has not run. */
  readonly select = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void => {
    let refusal: ProblemError | null
    try {
      refusal = this.#selectFor(request)
    } catch (error) {
      next(error as Error)
      return
    }
    if (refusal === null) next()
    else refuse(request, reply, refusal, next)
  }

  #selectFor(request: FastifyRequest): ProblemError | null {
    if (!this.#prepared) this.#prepare()
    if (this.#selector === null || !isRead(request.method)) return null
    const received = (request.query as { readonly fields?: unknown } | undefined)?.fields
    const values = received === undefined ? null : [received].flat().map(String)
    const selection = this.#selector.select(values, this.#hiddenFrom(request))
    if (selection !== null && 'detail' in selection) {
      const errors = selection.messages.map((message) => ({ in: 'query' as const, name: 'fields', message }))
      return new ProblemError('fields-invalid', { detail: selection.detail, errors })
    }
    ;(request as unknown as { [selectionOfRequest]: Selection | null })[selectionOfRequest] = selection
    return null
  }

  #hiddenFrom(request: FastifyRequest): ReadonlySet<string> {
    if (this.#hidden.length === 0) return nothing
    return new Set(this.#hidden.filter(([, hides]) => hides === true || hides(request)).map(([path]) => path))
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

const nothing: ReadonlySet<string> = new Set()

function fieldsObserver(reporter: Reporter) {
  return function observeFields(request: FastifyRequest, _reply: FastifyReply, next: () => void): void {
    const { fields: received } = (request.query ?? {}) as { readonly fields?: unknown }
    if (received !== undefined)
      reporter.observe('fields', 'projection', request, 'the answer would be projected')
    next()
  }
}

// Where the items of a list may be: where the route says, or in the member that the path is named after.
function listNames(route: RouteOptions & { path: string }, own: FieldsRouteOptions): readonly string[] {
  if (own.list === null) return []
  if (own.list !== undefined) return [own.list]
  const { lists } = route.config ?? {}
  const declared = typeof lists === 'object' && 'member' in lists ? [lists.member as string] : []
  const last = route.path.split('/').at(-1) ?? ''
  return [...declared, last.replaceAll('-', '_'), last]
}

function checkHidden(label: string, received: unknown): Readonly<Record<string, true | IsHidden>> {
  if (typeof received !== 'object' || received === null || Array.isArray(received)) {
    return invalid(label, 'an object of true or predicates, by dot path', received)
  }
  for (const [path, hides] of Object.entries(received)) {
    if (hides !== true && typeof hides !== 'function')
      invalid(`${label}['${path}']`, 'true or a predicate', hides)
  }
  return Object.freeze({ ...received })
}
