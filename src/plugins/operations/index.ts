import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
} from 'fastify'
import { hasCallers } from '../../convention/caller.js'
import { keyStyleOf, maintenanceSignal } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { documentRoute } from '../../convention/document.js'
import { isRead } from '../../convention/exchange.js'
import { closingIfFails } from '../../convention/failed-boot.js'
import { offerNames } from '../../convention/offer-names.js'
import { jsonSchemaIn, readerOf, useOwnCompilers } from '../../convention/route-schemas.js'
import { integer, optional, text } from '../../options.js'
import { type Json, type SchemaStore, writtenOut } from '../../schema/json-schema.js'
import type { KeyStyle } from '../../words/words.js'
import type {
  InternalStartOptions,
  OperationDefinition,
  OperationHandle,
  OperationHandler,
  Operations,
} from './api.js'
import type { DefinedOperation } from './define.js'
import { descriptionOfRoute, mountOperationRoutes } from './hooks.js'
import { describeStart, documentStart } from './openapi.js'
import { type OperationsOptions, operationsOptions, resolveOperations } from './options.js'
import { isGone, progressOf } from './record.js'
import { operationResponses, passJson } from './responses.js'
import { type OperationsService, operationsService } from './service.js'
import {
  beginOptions,
  callerOf,
  internal,
  nameOf,
  operationStarter,
  type Preferences,
  readPrefer,
  type StartOptions,
} from './start.js'

export type {
  InternalStartOptions,
  OperationContext,
  OperationDefinition,
  OperationHandle,
  OperationHandler,
  OperationOutcome,
  OperationRetry,
  Operations,
  RunOptions,
  StatusDocument,
} from './api.js'
export {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from './engines/engine.js'
export { type InProcessEngineOptions, inProcessEngine } from './engines/in-process.js'
export { type OperationEvent, type OperationEventName, operationChannel } from './events.js'
export type {
  Duration,
  OperationOwner,
  OperationsOptions,
} from './options.js'
export type {
  OperationAccess,
  OperationFailure,
  OperationRecord,
  OperationStatus,
} from './record.js'
export type { OperationResult, Preferences, StartOptions } from './start.js'
export { type MemoryOperationStoreOptions, memoryOperationStore } from './stores/memory.js'
export {
  type OperationQuery,
  type OperationStore,
  OperationStoreFullError,
} from './stores/store.js'

/** Options of a route, under `config.operations`. */
export interface OperationsRouteOptions {
  /**
   * Name of the operation that the route starts. It is checked when the app gets ready, and the OpenAPI document shows
   * the 202.
   * @default none
   */
  readonly starts?: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation that the route starts. */
    operations?: OperationsRouteOptions | false
  }
  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    /** The operations of this context. */
    operations: Operations<TypeProvider>
  }
  interface FastifyRequest {
    /** The preferences of the client (`Prefer`, RFC 7240). */
    readonly prefer: Preferences
  }
  interface FastifyReply {
    /**
     * Starts an operation; the result is typed as the handler's reply. Sends a 202 with its `Location`, or the result if the client waits for it (`Prefer: wait`) and
     * the operation ends in time. `return` it from the handler, after all checks of the request.
     *
     * @param operation the name in `define`, or its handle
     * @param input a JSON value, with BigInts; stored until the operation has ended
     * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operation-in-progress`, `operations-full`, `operations-unavailable`, `quota-exceeded`, `content-too-large`
     */
    startOperation<Input, Answer = unknown, Result = unknown>(
      operation: string | OperationHandle<Input, Result>,
      input?: Input,
      options?: StartOptions<Result>,
    ): Promise<Answer>
    /**
     * Sends a 202 with `Retry-After` for a download that is not ready. `return` it.
     *
     * @param seconds the `Retry-After`: an integer from 1 to 86,400
     * @param progress from 0 to 1; other numbers are clamped
     */
    notReady(seconds: number, progress?: number): FastifyReply
  }
}

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
export const operations: FastifyPluginAsync<OperationsOptions & RegistrationOptions> = convention({
  name: 'operations',
  rules: [],
  options: operationsOptions,
  routeOptions: { starts: optional(text()) },
  setUp({ app, options: given, atReady, addFinding }) {
    const options = resolveOperations(given, app)
    const { identify, path } = options
    const knowsCallers = () => identify !== undefined || hasCallers(app)
    const service = operationsService(options, app.log, knowsCallers)
    const { definitions } = service
    // Schemas and responses share one style; `responseRules` may be registered after this plugin.
    let style: KeyStyle | undefined
    const keyStyle = () => {
      style ??= keyStyleOf(app)
      return style
    }
    const responses = operationResponses(app, service, keyStyle)

    let hadCallers = false
    atReady(function findUnknownCallers() {
      if (definitions.size === 0 || identify !== undefined || hadCallers) return
      const [problem, instead] = hasCallers(app)
        ? [
            'there is no list of operations: callers are known only since',
            'bearer before the first operation',
          ]
        : ['all callers who know the id of an operation can see and cancel it', 'identify, or bearer']
      const route = `GET ${app.prefix}${path}/:id`
      addFinding({ rule: 'identify', route, mode: 'report', problem, instead }, 'none')
    })

    const value = {
      define(name: string, ...given: readonly unknown[]) {
        const [options, handler] = given.length === 1 ? [{}, given[0]] : given
        definitions.define(name, options as OperationDefinition, handler as OperationHandler, app.log)
        if (definitions.size === 1) {
          hadCallers = hasCallers(app)
          mountOperationRoutes(app, service, responses, keyStyle())
        }
        return Object.freeze({ name })
      },
      async start(operation, input, { owner, ...options }: InternalStartOptions = {}) {
        const starter = owner === undefined ? internal : { ...internal, ...callerOf(owner) }
        const given = beginOptions('operations.start()', options, starter)
        return responses.document(await service.begin(nameOf(operation), input, given))
      },
      async find(id: string) {
        const record = await service.registry.find(id)
        return record === null || isGone(record, service.clock.now()) ? null : responses.document(record)
      },
      async cancel(id: string) {
        const record = await service.cancel(id)
        return record && responses.document(record)
      },
      work: () => service.work(),
    } as Operations
    const offered = { plugin: 'operations', mode: 'enforce' } as const
    offerNames(app, { ...offered, owner: 'app', members: { operations: { value } } })
    offerNames(app, { ...offered, owner: 'request', members: { prefer: { get: preferences } } })
    const ofReplies = {
      startOperation: { value: operationStarter(service, responses) },
      notReady: { value: notReady },
    }
    const needName = offerNames(app, { ...offered, owner: 'reply', members: ofReplies })

    const starting: string[] = []
    app.addHook('onReady', async function startOperations() {
      // Throws if there is no such operation.
      for (const name of starting) definitions.named(name)
      if (definitions.size === 0) return
      const compiler = app.validatorCompiler as FastifySchemaCompiler<object>
      definitions.compile({
        validator: (schema) => compiler({ schema, method: 'POST', url: path, httpPart: 'body' }),
        shared: app.getSchemas() as SchemaStore,
        jsonSchema: (schema, direction) => jsonSchemaIn(app, schema, direction),
      })
      await closingIfFails(app, async () => {
        await pauseInMaintenance(app, service)
        await service.start()
      })
    })
    app.addHook('onListen', async () => {
      if (definitions.size > 0) await service.work()
    })
    app.addHook('preClose', async () => service.stopWaiting())
    app.addHook('onClose', () => service.close())
    return { app, definitions, keyStyle, starting, needName, addFinding }
  },
  route({ app: context, name: label, methods, route, options, state }) {
    if (route === null) return undefined
    const describe = descriptionOfRoute.get(route)
    if (describe !== undefined) {
      useOwnCompilers(context, route)
      return { describe }
    }
    const { starts: name } = options
    if (name === undefined) return undefined
    const { app, definitions, keyStyle, starting, needName, addFinding } = state
    starting.push(name)
    if (methods.some(isRead)) {
      const problem = `config.operations.starts on ${methods.join(', ')}: a safe request starts nothing (RFC 9110 §9.2.1)`
      const instead = 'a route with POST, or reply.notReady() for a download'
      addFinding({ rule: 'method', route: label, mode: 'report', problem, instead }, 'none')
    }
    needName(label, 'startOperation')
    // Read when a document is made: the operation may be defined later.
    documentRoute(context, route, 'operations', () => ({
      describe: describeStart(definitions.named(name).onePer !== null),
      document: documentStart(
        route.schema?.response,
        keyStyle(),
        resultSchemaIn(app, definitions.named(name)),
      ),
    }))
    return undefined
  },
})

/** The schema of the result of an operation, without references to schemas of the app. */
function resultSchemaIn(app: FastifyInstance, { result }: DefinedOperation): Json | null {
  if (result === null) return null
  const schema = jsonSchemaIn(app, result, 'output') as Json
  const reader = readerOf(app)
  return writtenOut(reader.absolute(schema), reader)
}

async function pauseInMaintenance(app: FastifyInstance, service: OperationsService): Promise<void> {
  const maintenance = maintenanceSignal.get(app)
  if (maintenance === undefined) return
  maintenance.onChange((isActive) => {
    service.pause(isActive).catch((err: unknown) => {
      app.log.error({ err }, `operations: work cannot ${isActive ? 'pause' : 'go on'}`)
    })
  })
  await service.pause(maintenance.isActive())
}

function preferences(this: FastifyRequest): Preferences {
  return readPrefer(this.headers.prefer)
}

function notReady(this: FastifyReply, seconds: number, progress?: number): FastifyReply {
  waitSeconds('reply.notReady() seconds', seconds)
  const known = progressOf(progress)
  // A string is not serialized by the schema of the route.
  return passJson(this)
    .code(202)
    .header('retry-after', String(seconds))
    .header('cache-control', 'no-store')
    .send(JSON.stringify({ status: 'In progress', ...(known === null ? {} : { progress: known }) }))
}
