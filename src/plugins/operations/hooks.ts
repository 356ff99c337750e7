import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { passString } from '../../fastify/reply-serializer.js'
import { selectionOf, writesTwins } from '../../fastify/serialization.js'
import { formatHttpDate } from '../../http/http-date.js'
import { formatLinks, hrefWith } from '../../http/links.js'
import { prefers } from '../../http/media-types.js'
import { queryOf } from '../../http/request-target.js'
import { mergeVary } from '../../http/vary.js'
import { exactJson } from '../../json/exact-json.js'
import { hasLongDigits } from '../../json/json-text.js'
import { parseExact } from '../../json/parse-exact.js'
import { memberName } from '../../json-schema/member-name.js'
import { type Checks, integer, invalid, resolveOptions } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { typeBaseOf } from '../../problem/problem-style.js'
import { refuseThrown } from '../../problem/send-problem.js'
import type { KeyStyle } from '../../words/key-names.js'
import type { OperationDefinitions } from './define.js'
import { cursorAfter, listCursors, listLimits, readListQuery } from './list-page.js'
import { operationSchemas, statusNames } from './openapi.js'
import { type Duration, duration, type ResolvedOperations } from './options.js'
import { type Caller, callerOf, maySee, type Starter, traceparentOf } from './owner.js'
import { PollLimit } from './polls.js'
import { noPreferences, type Preferences, readPrefer } from './prefer.js'
import { isFinal, isGone, type OperationFailure, type OperationRecord } from './record.js'
import type { BeginOptions, OperationsService } from './service.js'
import { type StatusDocument, statusDocument } from './status-document.js'
import { eventStream, type StatusEvent, StatusStream } from './status-stream.js'

/** The result of an operation, for {@link StartOptions.answer}. */
export type OperationResult =
  | { readonly status: 'Succeeded'; readonly resource: string | null; readonly result: unknown }
  | { readonly status: 'Failed'; readonly error: OperationFailure }

/** Options of the start of an operation. */
export interface RunOptions {
  /**
   * Time before which it must not run: milliseconds, or a text such as `'10 minutes'`.
   * @default none
   */
  readonly delay?: Duration
  /**
   * Operations with a higher priority run first: from 0 to 100.
   * @default `priority` of the definition
   */
  readonly priority?: number
}

/** Options of `reply.startOperation()`. */
export interface StartOptions extends RunOptions {
  /**
   * Writes the response if the client waits (`Prefer: wait`) and the operation ends in time.
   * @default the response of a poll
   */
  readonly answer?: (end: OperationResult, reply: FastifyReply) => unknown
}

const runChecks: Checks<RunOptions> = { delay: duration, priority: integer(0, 100) }

/** Returns the options of a start. @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function beginOptions(
  label: string,
  received: RunOptions,
  starter: Starter,
  connection: object | null = null,
): BeginOptions {
  const { delay = 0, priority = null } = resolveOptions<RunOptions, RunOptions>(
    label,
    received,
    runChecks,
    {},
  )
  return { ...starter, delay: Number(delay), priority, connection }
}

/** Starts an operation for a request, waits for it as long as the client prefers, and returns what to send. */
export async function startOperation(
  service: OperationsService,
  answers: OperationAnswers,
  reply: FastifyReply,
  operation: string | PreparedOperation,
  input: unknown,
  { answer, ...options }: StartOptions,
): Promise<unknown> {
  const { request } = reply
  const begun =
    typeof operation === 'string'
      ? await service.begin(
          operation,
          input,
          beginOptions('reply.startOperation()', options, await starterOf(request, service.options)),
        )
      : await enqueued(service, operation)
  const preferences = request.prefer
  const wait = Math.min(preferences.wait ?? 0, service.options.maxWait)
  const record = await service.registry.readable(
    wait === 0 ? begun : await waited(service, reply, begun, wait),
  )
  const isDone = isFinal(record)
  if (preferences !== noPreferences) {
    const applied = appliedPreferences(preferences, wait, isDone)
    if (applied !== '') reply.header('preference-applied', applied)
  }
  return isDone && answer !== undefined
    ? answer(resultOf(service.definitions, record), reply)
    : answers.started(reply, record)
}

const records = new WeakMap<PreparedOperation, OperationRecord>()

/** An operation that a transaction of the app has stored. Pass it to `reply.startOperation()` after the commit. */
export interface PreparedOperation {
  /** Id of the operation. */
  readonly id: string
}

/** Returns the operation of a record for the app. */
export function preparedOperation(record: OperationRecord): PreparedOperation {
  const prepared = Object.freeze({ id: record.id })
  records.set(prepared, record)
  return prepared
}

/** Adds a prepared operation to the engine. Its transaction is committed: if that fails, the sweeper does it later. */
async function enqueued(service: OperationsService, prepared: PreparedOperation): Promise<OperationRecord> {
  const record = records.get(prepared)
  if (record === undefined) {
    return invalid('reply.startOperation()', 'a name, or the result of operations.prepare()', prepared)
  }
  await service.enqueue(record).catch(() => {})
  return record
}

/** Returns the preferences in the value of `Prefer`. */
export function preferencesOf(prefer: string | readonly string[] | undefined): Preferences {
  return prefer === undefined ? noPreferences : readPrefer([prefer].flat().join(','))
}

async function waited(
  service: OperationsService,
  reply: FastifyReply,
  record: OperationRecord,
  seconds: number,
): Promise<OperationRecord> {
  const left = new AbortController()
  const leave = () => left.abort()
  reply.raw.once('close', leave)
  // The connection may have been closed before.
  if (reply.raw.destroyed) leave()
  try {
    return await service.ended(record, seconds * 1000, left.signal)
  } finally {
    reply.raw.off('close', leave)
  }
}

function appliedPreferences({ respondAsync, wait }: Preferences, applied: number, isDone: boolean): string {
  return [
    ...(respondAsync && !isDone ? ['respond-async'] : []),
    ...(wait === null || applied === 0 ? [] : [`wait=${applied}`]),
  ].join(', ')
}

function resultOf(
  definitions: OperationDefinitions,
  { name, status, resource, result, error }: OperationRecord,
): OperationResult {
  if (status === 'Failed' && error !== null) return { status, error }
  const value = result === null ? undefined : definitions.readResult(name, result, false)
  return { status: 'Succeeded', resource, result: value }
}

/** Returns the caller of a request. */
async function callerOfRequest(
  request: FastifyRequest,
  { identify }: Pick<ResolvedOperations, 'identify'>,
): Promise<Caller> {
  return callerOf(identify === null ? null : await identify(request))
}

/** Returns who starts an operation by a request. */
export async function starterOf(
  request: FastifyRequest,
  options: Pick<ResolvedOperations, 'identify'>,
): Promise<Starter> {
  return {
    ...(await callerOfRequest(request, options)),
    requestId: request.id,
    traceparent: traceparentOf(request.headers.traceparent),
  }
}

/** Writes the responses of operations. */
export class OperationAnswers {
  readonly #service: OperationsService
  readonly #path: string
  readonly #typeBase: string
  readonly #keyStyle: KeyStyle

  /**
   * @param app the context that the operations serve
   * @param keyStyle style of the keys of status documents
   */
  constructor(app: FastifyInstance, service: OperationsService, keyStyle: KeyStyle) {
    this.#service = service
    this.#path = `${service.options.baseUrl}${app.prefix}${service.options.path}`
    this.#typeBase = typeBaseOf(app)
    this.#keyStyle = keyStyle
  }

  /** Returns the document of an operation, with the names of {@link StatusDocument}. */
  document(record: OperationRecord): StatusDocument {
    const { definitions } = this.#service
    return this.#document(record, (json) => definitions.readResult(record.name, json, false))
  }

  /** Returns the response of a route that started an operation, as text: the response schema of the route does not apply. */
  started(reply: FastifyReply, record: OperationRecord): string {
    const isDone = isFinal(record)
    if (isDone) lead(reply, record)
    else {
      const href = this.#href(record)
      reply.code(202).header('location', href).header('operation-location', `${href}/status`)
    }
    // Only results have long integers, and Fastify creates the options of a route at each access.
    const twins = record.result !== null && writesTwins(reply.request)
    return asText(reply, withoutHidden(reply, this.#status(reply, record, twins)), twins)
  }

  /** Returns the response of a poll: 303 to the created resource, or 200, with the document. */
  outcome(reply: FastifyReply, record: OperationRecord): object | string {
    lead(reply, record)
    return this.status(reply, record)
  }

  /** Returns the response of a poll of the status document. */
  status(reply: FastifyReply, record: OperationRecord): object | string {
    const { updatedAt, result } = record
    // Only results have long integers, and Fastify creates the options of a route at each access.
    const twins = result !== null && writesTwins(reply.request)
    const document = this.#status(reply, record, twins)
    // The clock of the instance that wrote the record may be ahead (RFC 9110 §8.8.2.1).
    const modified = Math.min(updatedAt, this.#service.clock.now())
    if (reply.statusCode === 200) reply.header('last-modified', formatHttpDate(modified))
    // Fastify's serializers throw for a BigInt; those of `integerTwins` do not.
    return result !== null && hasLongDigits(result) && !twins ? asText(reply, document, false) : document
  }

  /** Returns an event with the status document, as a poll gets it. */
  event(reply: FastifyReply, record: OperationRecord): StatusEvent {
    const twins = writesTwins(reply.request)
    const data = exactJson(this.#restyled(record, twins), twins) ?? 'null'
    return { id: record.version, data, isLast: isFinal(record) }
  }

  /**
   * Returns a page of a list, and links the next one.
   *
   * @param records one more than `limit` if there is a next page
   */
  page(
    reply: FastifyReply,
    records: readonly OperationRecord[],
    limit: number,
    member: string,
  ): object | string {
    const shown = records.slice(0, limit)
    const last = shown.at(-1)
    if (last !== undefined && records.length > limit) {
      const href = hrefWith(this.#path, queryOf(reply.request.originalUrl), listCursors, cursorAfter(last))
      reply.header('link', formatLinks([{ href, rel: 'next' }]))
    }
    const present = shown.filter((record) => !isGone(record, this.#service.clock.now()))
    const twins = writesTwins(reply.request)
    const list = { [member]: present.map((record) => this.#restyled(record, twins)) }
    const hasInt64 = present.some(({ result }) => result !== null && hasLongDigits(result))
    return hasInt64 && !twins ? asText(reply, list, false) : list
  }

  #status(reply: FastifyReply, record: OperationRecord, twins: boolean): object {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(this.#service.retryAfter(record)))
    return this.#restyled(record, twins)
  }

  /** @param twins whether declared 64-bit integers of the result have twins */
  #restyled(record: OperationRecord, twins: boolean): object {
    const { definitions } = this.#service
    const document = this.#document(record, (json) =>
      // Fewer BigInts, because Fastify's serializers throw for them.
      twins ? definitions.readResult(record.name, json, true) : parseExact(json),
    )
    return this.#keyStyle === 'snake_case' ? document : restyled(document, this.#keyStyle)
  }

  #document(record: OperationRecord, readResult: (json: string) => unknown): StatusDocument {
    return statusDocument(record, { href: this.#href(record), typeBase: this.#typeBase, readResult })
  }

  #href({ id }: OperationRecord): string {
    return `${this.#path}/${id}`
  }
}

function lead(reply: FastifyReply, { resource }: OperationRecord): void {
  if (resource !== null) reply.code(303).header('location', resource)
}

function restyled(document: StatusDocument, keyStyle: KeyStyle): object {
  const { id, status, created_at, finished_at, ...others } = document
  const names = statusNames[keyStyle]
  const finished = finished_at === undefined ? {} : { [names.finished_at]: finished_at }
  return { id, status, [names.created_at]: created_at, ...finished, ...others }
}

// Fields that the route hides are hidden in the result, too.
function withoutHidden(reply: FastifyReply, document: object): object {
  const selection = selectionOf(reply.request) ?? null
  if (selection?.hides !== true || !('result' in document)) return document
  return { ...document, result: selection.withoutHidden(document.result) }
}

// Fastify does not serialize a text.
function asText(reply: FastifyReply, document: object, twins: boolean): string {
  passString(reply).type('application/json; charset=utf-8')
  return exactJson(document, twins) ?? 'null'
}

/**
 * Adds the routes of operations: the operation, which redirects to the created resource; its status document, which is
 * always a 200; and its cancellation.
 *
 * @param answersOf returns the writer of responses; called when the app is ready
 * @param keyStyle style of the keys of status documents
 */
export function mountOperationRoutes(
  app: FastifyInstance,
  service: OperationsService,
  answersOf: () => OperationAnswers,
  keyStyle: KeyStyle,
): void {
  const { path, polls, identify, maxStreams, store, schedule } = service.options
  const { now } = service.clock
  // The URL of an operation is also needed outside of requests.
  if (/[:*]/.test(app.prefix)) invalid('operations: the prefix', 'one without parameters', app.prefix)
  const limit = polls === null ? null : new PollLimit(polls)
  const member = memberName(path, keyStyle)
  const schemas = operationSchemas(keyStyle, member)
  const shared = sharedOptions(app, keyStyle)
  let streams = 0

  app.get(`${path}/:id`, { ...shared, schema: schemas.read }, async (request, reply) => {
    const record = await polled(request)
    return answersOf().outcome(reply, record)
  })
  app.get(`${path}/:id/status`, { ...shared, schema: schemas.readStatus }, async (request, reply) => {
    const record = await polled(request)
    reply.header('vary', mergeVary(headerOf(reply, 'vary'), 'accept'))
    const wantsEvents = prefers(request.headers.accept ?? '', eventStream, 'application/json')
    return wantsEvents && streams < maxStreams && !service.isClosing
      ? streamed(request, reply, record)
      : answersOf().status(reply, record)
  })
  app.delete(`${path}/:id`, { ...shared, schema: schemas.cancel }, cancelOperation)
  // Without `identify`, all callers are the same to us.
  if (identify !== null) {
    const lists = {
      ...listLimits,
      by: ['time'] as const,
      total: false,
      idFormat: 'text' as const,
      time: statusNames[keyStyle].created_at,
      member,
    }
    const config = { ...shared.config, lists }
    app.get(path, { ...shared, config, schema: schemas.list }, listOperations)
  }

  function streamed(request: FastifyRequest, reply: FastifyReply, record: OperationRecord): FastifyReply {
    const answers = answersOf()
    const first = answers.event(reply, record)
    // A client reconnects after the end of a stream; a 204 stops it.
    if (first.isLast && request.headers['last-event-id'] === String(first.id)) return reply.code(204).send()
    const retryAfter = service.retryAfter(record)
    reply.type(eventStream).header('x-accel-buffering', 'no')
    // For clients that poll after the end of the stream.
    if (!first.isLast) reply.header('retry-after', String(retryAfter))
    // A stream without content, because Fastify would read the other one to its end.
    if (request.method === 'HEAD') return reply.send(Readable.from([]))
    streams += 1
    const events = new StatusStream({
      first,
      read: async () => {
        const found = await service.registry.find(record.id)
        if (found === null || isGone(found, now())) return null
        return answers.event(reply, await service.registry.readable(found))
      },
      watch: (wake) => service.watch(record.id, wake),
      isClosing: () => service.isClosing,
      retry: retryAfter * 1000,
      readInterval: store.isShared ? streamInterval : null,
      schedule,
      onEnd: () => {
        streams -= 1
      },
    })
    // A hook of the app may send an error instead, and leave the stream.
    reply.raw.once('close', () => events.destroy())
    return reply.send(events)
  }

  async function listOperations(request: FastifyRequest, reply: FastifyReply): Promise<object | string> {
    const query = readListQuery(request.query as Readonly<Record<string, unknown>>)
    const caller = await callerOfRequest(request, service.options)
    // The callers without an id share operations by their ids alone.
    const found =
      caller.owner === null
        ? []
        : await service.registry.list(caller.owner, { ...query, limit: query.limit + 1 })
    const { registry } = service
    return answersOf().page(
      reply,
      await Promise.all(found.map((one) => registry.readable(one))),
      query.limit,
      member,
    )
  }

  async function polled(request: FastifyRequest): Promise<OperationRecord> {
    const record = await visible(request)
    const tooEarly = limit?.count(record.id, now()) ?? null
    if (tooEarly !== null) throw tooManyPolls(tooEarly)
    return service.registry.readable(record)
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
    const isCancelled = record.isCancelling || record.error?.code === 'operation-cancelled'
    if (!isCancelled) throw notCancelled(record)
    return reply.code(204).send()
  }
}

function notCancelled({ status }: OperationRecord): ProblemError {
  return status === 'In progress'
    ? new ProblemError('operation-not-cancellable', { detail: 'The operation cannot be cancelled' })
    : new ProblemError('operation-finished', { detail: `The operation has ended: ${status}` })
}

function absent(): ProblemError {
  return new ProblemError('not-found', { detail: 'There is no such operation' })
}

function tooManyPolls(milliseconds: number): ProblemError {
  const seconds = Math.max(Math.ceil(milliseconds / 1000), 1)
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

/** Milliseconds between two reads of a stream: it hears of the progress of runs in this process only. */
const streamInterval = 2_000

/** The options that the routes of operations share. */
function sharedOptions(app: FastifyInstance, keyStyle: KeyStyle): RouteShorthandOptions {
  return {
    // The routes check what they read: a validator of the app may be for schemas of another kind.
    ...(app.validatorCompiler === undefined ? {} : { validatorCompiler: () => () => true }),
    errorHandler: refuseThrown,
    onSend: forbidStoringOnSend,
    config: {
      // A precondition would turn a poll into a 304: `If-None-Match: *` matches any document.
      caching: false,
      // In camelCase, the key keeps the rule.
      responseRules:
        keyStyle === 'camelCase'
          ? {}
          : { except: ['keys'], reason: 'generic clients look for resourceLocation' },
    },
  }
}
