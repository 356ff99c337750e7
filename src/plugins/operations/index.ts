import type { FastifyReply, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../fastify/key-style.js'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { passString } from '../../fastify/reply-serializer.js'
import { type Checks, integer, resolveRouteOptions, text } from '../../options.js'
import type { KeyStyle } from '../../words/key-names.js'
import type { OperationDefinition, OperationHandler } from './definitions.js'
import {
  mountOperationRoutes,
  OperationAnswers,
  preferencesOf,
  type StartOptions,
  startOperation,
} from './hooks.js'
import { describeStart } from './openapi.js'
import { type OperationOwner, type OperationsOptions, resolveOperations } from './options.js'
import type { Preferences } from './prefer.js'
import { ownerText, progressOf } from './record.js'
import { OperationsService } from './service.js'
import type { StatusDocument } from './status-document.js'

export type {
  OperationContext,
  OperationDefinition,
  OperationHandler,
  OperationOutcome,
} from './definitions.js'
export {
  type OperationEngine,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from './engines/engine.js'
export { type InProcessEngineOptions, inProcessEngine } from './engines/in-process.js'
export type { OperationResult, StartOptions } from './hooks.js'
export type {
  Duration,
  OperationOwner,
  OperationsOptions,
  PollsOptions,
} from './options.js'
export type { PollInterval } from './polls.js'
export type { Preferences } from './prefer.js'
export type { OperationFailure, OperationRecord, OperationStatus } from './record.js'
export type { StatusDocument } from './status-document.js'
export { type MemoryOperationStoreOptions, memoryOperationStore } from './stores/memory.js'
export { type OperationStore, OperationStoreFullError } from './stores/store.js'

/** Options of a route, under `config.operations`. */
export interface OperationsRouteOptions {
  /**
   * Name of the operation that the route starts. It is checked when the app gets ready, and the OpenAPI document shows
   * the 202.
   * @default none
   */
  readonly starts?: string
}

/** The operations of a context. */
export interface Operations {
  /**
   * Defines an operation by its name, before the app is ready. The first definition adds the routes of operations.
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED
   */
  define<Input = unknown>(name: string, handler: OperationHandler<Input>): void
  define<Input = unknown>(name: string, options: OperationDefinition, handler: OperationHandler<Input>): void
  /**
   * Starts an operation outside of a request, such as from a schedule.
   * @returns its document
   * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operations-full`, `operations-unavailable`, `content-too-large`
   */
  start(name: string, input?: unknown, owner?: OperationOwner): Promise<StatusDocument>
  /** Returns the document of an operation of any owner; `null` if there is none. */
  find(id: string): Promise<StatusDocument | null>
  /** Requests the cancellation of an operation of any owner. Returns its document; `null` if there is none. */
  cancel(id: string): Promise<StatusDocument | null>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation that the route starts. */
    operations?: OperationsRouteOptions | false
  }
  interface FastifyInstance {
    /** The operations of this context. */
    operations: Operations
  }
  interface FastifyRequest {
    /** The preferences of the client (`Prefer`, RFC 7240). */
    readonly prefer: Preferences
  }
  interface FastifyReply {
    /**
     * Starts an operation. Sends a 202 with its `Location`, or the result if the client waits for it (`Prefer: wait`) and
     * the operation ends in time. `return` it from the handler, after all checks of the request.
     *
     * @param name the name in `define`
     * @param input a JSON value, with BigInts; stored until the operation has ended
     * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operations-full`, `operations-unavailable`, `content-too-large`
     */
    startOperation(name: string, input?: unknown, options?: StartOptions): Promise<unknown>
    /**
     * Sends a 202 with `Retry-After` for a download that is not ready. `return` it.
     *
     * @param seconds the `Retry-After`: an integer from 1 to 86,400
     * @param progress from 0 to 1; other numbers are clamped
     */
    notReady(seconds: number, progress?: number): FastifyReply
  }
}

const routeChecks: Checks<OperationsRouteOptions> = { starts: text() }
const waitSeconds = integer(1, 86_400)

/**
 * Asynchronous operations: a handler starts long work and sends a 202. Clients poll and cancel the operation by its URL;
 * generic clients of long-running operations work too. A store keeps the records, and an engine runs the work. Both are
 * options, so that several instances can share them, and a killed process loses nothing.
 *
 * Work runs at least once, and may run twice; an operation ends once.
 *
 * Not for work of a second or less: send the response when it is done. Not for work on a schedule, or in steps that wait
 * for each other: use a workflow engine.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const operations = conventionPlugin<OperationsOptions>(
  'operations',
  function setUpOperations(app, received) {
    const service = new OperationsService(resolveOperations(received), app.log)
    const { definitions } = service
    const starting: { readonly route: RouteOptions; readonly name: string }[] = []
    let answers: OperationAnswers | null = null
    // The type base of problems and the key style are final when the app is ready.
    const answersOf = () => answers ?? new OperationAnswers(app, service, keyStyle())
    // Schemas and responses share one style; `responseRules` may be registered after this plugin.
    let style: KeyStyle | undefined
    const keyStyle = () => {
      style ??= keyStyleOf(app)
      return style
    }

    app.decorate('operations', {
      define(name: string, ...given: readonly unknown[]): void {
        const [options, handler] = given.length === 1 ? [{}, given[0]] : given
        definitions.define(name, options as OperationDefinition, handler as OperationHandler, app.log)
        if (definitions.names.length === 1) mountOperationRoutes(app, service, answersOf, keyStyle())
      },
      async start(name: string, input?: unknown, owner: OperationOwner = null) {
        return answersOf().document(await service.begin(name, input, ownerText(owner)))
      },
      find: async (id: string) => documentOf(await service.registry.find(id)),
      cancel: async (id: string) => documentOf(await service.cancel(id)),
    } as Operations)
    app.decorateRequest('prefer', {
      getter() {
        return preferencesOf(this.headers.prefer)
      },
    })
    app.decorateReply('startOperation', function start(this: FastifyReply, name, input, options = {}) {
      return startOperation(service, answersOf(), this, name, input, options)
    })
    app.decorateReply('notReady', notReady)

    app.addHook('onRoute', function noteStart(route) {
      if (route.config?.operations === undefined) return
      const label = `${[route.method].flat().join(', ')} ${route.path} config.operations`
      const own = resolveRouteOptions<OperationsRouteOptions, OperationsRouteOptions>(
        label,
        route.config.operations,
        routeChecks,
        {},
      )
      if (own === false || own.starts === undefined) return
      // The OpenAPI document shows responses of routes with a schema only.
      route.schema ??= {}
      starting.push({ route, name: own.starts })
    })
    app.addHook('onReady', async function startOperations() {
      answers = new OperationAnswers(app, service, keyStyle())
      for (const { route, name } of starting) {
        definitions.named(name)
        completeWhenRead(route, (schema) => describeStart(schema, keyStyle()))
      }
      if (definitions.names.length > 0) await service.start()
    })
    app.addHook('preClose', async () => service.stopWaiting())
    app.addHook('onClose', () => service.close())

    function documentOf(record: Parameters<OperationAnswers['document']>[0] | null): StatusDocument | null {
      return record === null ? null : answersOf().document(record)
    }
  },
)

function notReady(this: FastifyReply, seconds: number, progress?: number): FastifyReply {
  waitSeconds('reply.notReady() seconds', seconds)
  const known = progressOf(progress)
  // A string is not serialized by the schema of the route.
  return passString(this)
    .code(202)
    .header('retry-after', String(seconds))
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ status: 'In progress', ...(known === null ? {} : { progress: known }) }))
}
