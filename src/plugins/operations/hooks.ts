import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { LruMap } from 'toad-cache'
import { hasCallers } from '../../convention/caller.js'
import { routeSlot } from '../../convention/slots.js'
import { routeOfPlugin } from '../../convention/unread-config.js'
import { invalid } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { RouteDescription } from '../../problem/route-description.js'
import { refuseThrown } from '../../problem/send-problem.js'
import { type KeyStyle, memberName } from '../../words/words.js'
import { listLimits, readListQuery } from './list-page.js'
import { describedOperations, operationSchemas, statusNames } from './openapi.js'
import { isGone, type OperationRecord } from './record.js'
import type { OperationResponses } from './responses.js'
import type { OperationsService } from './service.js'
import { callerOfRequest, maySee } from './start.js'

export const descriptionOfRoute = routeSlot<RouteDescription>('operations.description')

export function mountOperationRoutes(
  app: FastifyInstance,
  service: OperationsService,
  responses: OperationResponses,
  keyStyle: KeyStyle,
): void {
  const { path, polls, identify } = service.options
  const { now } = service.clock
  // The URL of an operation is also needed outside of requests.
  if (/[:*]/.test(app.prefix)) invalid('operations: the prefix', 'one without parameters', app.prefix)
  const limit = polls === false ? () => null : pollLimit(polls)
  const member = memberName(path, keyStyle)
  const schemas = operationSchemas(keyStyle, member)
  const shared = sharedOptions(keyStyle)

  const routeOptions = (name: keyof typeof describedOperations) => ({
    ...shared,
    config: { ...shared.config, ...descriptionOfRoute.config(describedOperations[name]) },
  })

  app.get(`${path}/:id`, { ...routeOptions('read'), schema: schemas.read }, async (request, reply) =>
    responses.outcome(reply, await polled(request)),
  )
  app.get(
    `${path}/:id/status`,
    { ...routeOptions('read'), schema: schemas.readStatus },
    async (request, reply) => responses.status(reply, await polled(request)),
  )
  app.delete(`${path}/:id`, { ...routeOptions('cancel'), schema: schemas.cancel }, cancelOperation)
  // Without one of both, callers cannot be told apart.
  if (identify !== undefined || hasCallers(app)) {
    const lists = {
      ...listLimits,
      // The handler links to the next page, in place of `reply.list()`.
      mode: 'off' as const,
      by: ['time'] as const,
      total: false,
      idFormat: 'text' as const,
      time: statusNames[keyStyle].created_at,
      member,
    }
    const options = routeOptions('list')
    app.get(path, { ...options, config: { ...options.config, lists }, schema: schemas.list }, listOperations)
  }

  async function listOperations(request: FastifyRequest, reply: FastifyReply): Promise<object | string> {
    const query = readListQuery(request.query as Readonly<Record<string, unknown>>)
    const { owner } = await callerOfRequest(request, service.options)
    // The callers without an id share operations by their ids alone.
    const page = { ...query, limit: query.limit + 1 }
    const found = owner === null ? [] : await service.registry.ask((store) => store.list(owner, page))
    return responses.page(reply, found, query.limit, member)
  }

  async function polled(request: FastifyRequest): Promise<OperationRecord> {
    const record = await visible(request)
    const tooEarly = limit(record.id, now())
    if (tooEarly !== null) throw tooManyPolls(tooEarly)
    return record
  }

  /** Returns the requested operation. The response for an operation of another caller is that for an unknown id. */
  async function visible(request: FastifyRequest): Promise<OperationRecord> {
    const { id } = request.params as { readonly id: string }
    // First, so that an error of `identify` does not reveal whether the operation exists.
    const caller = await callerOfRequest(request, service.options)
    const record = await service.registry.find(id)
    if (record === null || !maySee(caller, record)) throw absent()
    if (isGone(record, now())) {
      throw new ProblemError('operation-gone', {
        detail: 'The operation ended so long ago that its result is deleted',
      })
    }
    return record
  }

  async function cancelOperation(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { id, cancellable } = await visible(request)
    const record = cancellable ? await service.cancel(id) : await service.registry.find(id)
    if (record === null) throw absent()
    if (record.error?.code !== 'operation-cancelled') throw notCancelled(record)
    return reply.code(204).send()
  }
}

function notCancelled({ status, isCancelling }: OperationRecord): ProblemError {
  if (status !== 'In progress') {
    return new ProblemError('operation-finished', { detail: `The operation has ended: ${status}` })
  }
  const detail = isCancelling
    ? 'The operation has been asked to stop, but has not stopped yet: it may still succeed'
    : 'The operation cannot be cancelled'
  return new ProblemError('operation-not-cancellable', { detail })
}

function absent(): ProblemError {
  return new ProblemError('not-found', { detail: 'There is no such operation' })
}

function tooManyPolls(milliseconds: number): ProblemError {
  const seconds = Math.ceil(milliseconds / 1000)
  const detail = `The operation is polled too often; try again in ${seconds} seconds. It continues meanwhile`
  return new ProblemError('quota-exceeded', {
    detail,
    headers: { 'retry-after': String(seconds) },
  })
}

// For errors before the handler, too.
function forbidStoringOnSend(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: (error: null, payload: unknown) => void,
): void {
  reply.header('cache-control', 'no-store')
  next(null, payload)
}

function sharedOptions(keyStyle: KeyStyle): RouteShorthandOptions {
  return {
    errorHandler: refuseThrown,
    onSend: forbidStoringOnSend,
    config: {
      ...routeOfPlugin.config(true),
      // A transform of the app need not know JSON Schema. @fastify/swagger adds the member to the type.
      ...({ swaggerTransform: false } as object),
      // A precondition would turn a poll into a 304: `If-None-Match: *` matches any document.
      caching: false,
      // A cancellation may be repeated anyway.
      idempotency: false,
      // In camelCase, the key keeps the rule.
      responseRules:
        keyStyle === 'camelCase'
          ? {}
          : { except: ['keys'], reason: 'generic clients look for resourceLocation' },
    },
  }
}

/** Operations whose polls are counted. One more drops the count of the operation that was polled least recently. */
const counted = 10_000

/**
 * Returns a function that counts a poll of an operation, and returns the milliseconds until the next allowed one if this one
 * exceeds the maximum in a minute.
 */
export function pollLimit(max: number): (id: string, now: number) => number | null {
  const windows = new LruMap<{ readonly endsAt: number; polls: number }>(counted)
  return (id, now) => {
    const known = windows.get(id)
    if (known === undefined || known.endsAt <= now) {
      windows.set(id, { endsAt: now + 60_000, polls: 1 })
      return null
    }
    known.polls += 1
    return known.polls > max ? known.endsAt - now : null
  }
}
