import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { invalid } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuseThrown } from '../../problem/send-problem.js'
import type { KeyStyle } from '../../words/key-names.js'
import type { OperationAnswers } from './answers.js'
import { ownerOf } from './owner.js'
import { PollLimit } from './polls.js'
import { isFinal, type OperationRecord } from './record.js'
import type { OperationsService } from './service.js'
import { createdHeaders, pollHeaders, problemAnswer, statusSchemaIn } from './status-schema.js'

/**
 * Mounts the routes of operations: the operation itself, which leads to what it created; its status document, which is
 * always a 200; and its cancellation.
 *
 * @param answersOf what writes the answers, once the app is ready
 * @param keyStyle how the keys of the status document join their words
 */
export function mountOperationRoutes(
  app: FastifyInstance,
  service: OperationsService,
  answersOf: () => OperationAnswers,
  keyStyle: KeyStyle,
): void {
  const { path, polls, now } = service.options
  // The URL of an operation has to be known where no request is.
  if (/[:*]/.test(app.prefix)) invalid('operations: the prefix', 'one without parameters', app.prefix)
  const limit = polls === null ? null : new PollLimit(polls)
  const status = { ...statusSchemaIn(keyStyle), headers: pollHeaders }
  const created = { ...status, description: 'It has created something', headers: createdHeaders }

  app.get(
    `${path}/:id`,
    routeOf(keyStyle, 'readOperation', 'How an operation stands', {
      200: status,
      303: created,
      ...described(problems),
    }),
    async (request, reply) => {
      const record = await polled(request)
      return answersOf().outcome(reply, record)
    },
  )
  app.get(
    `${path}/:id/status`,
    routeOf(keyStyle, 'readOperationStatus', 'The status document of an operation', {
      200: status,
      ...described(problems),
    }),
    async (request, reply) => {
      const record = await polled(request)
      return answersOf().status(reply, record)
    },
  )
  app.delete(
    `${path}/:id`,
    routeOf(keyStyle, 'cancelOperation', 'Cancel an operation', cancelResponses),
    cancelOperation,
  )

  async function polled(request: FastifyRequest): Promise<OperationRecord> {
    const record = await visible(request)
    const tooEarly = limit?.count(record.id, now()) ?? null
    if (tooEarly !== null) throw tooManyPolls(tooEarly)
    if (isFinal(record)) service.learn(record)
    return record
  }

  /** The operation that is asked for; what the caller did not start looks like what is not there. */
  async function visible(request: FastifyRequest): Promise<OperationRecord> {
    const { id } = request.params as { readonly id: string }
    // First: what it throws must not tell whether there is such an operation.
    const owner = await ownerOf(request, service.options)
    const record = await service.registry.find(id)
    if (record === null || record.owner !== owner) throw absent()
    if (record.goneAt !== null && record.goneAt <= now()) {
      throw new ProblemError('operation-gone', {
        detail: 'The operation ended so long ago that its end is not kept',
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
    ? new ProblemError('operation-not-cancellable', { detail: 'Such an operation runs to its end' })
    : new ProblemError('operation-finished', { detail: `The operation has ended: ${status}` })
}

function absent(): ProblemError {
  return new ProblemError('not-found', { detail: 'There is no such operation' })
}

function tooManyPolls(milliseconds: number): ProblemError {
  const seconds = Math.max(Math.ceil(milliseconds / 1000), 1)
  const detail = `The operation is polled too often; ask again in ${seconds} seconds. It goes on meanwhile`
  return new ProblemError('quota-exceeded', {
    detail,
    headers: { 'retry-after': String(seconds) },
  })
}

const problems = {
  404: 'There is no such operation',
  410: 'It ended too long ago',
  429: 'It is polled too often',
}

const cancelResponses = {
  204: { description: 'It is to be cancelled, or was', type: 'null' },
  ...described({ 404: problems[404], 409: 'It has ended, or cannot be cancelled', 410: problems[410] }),
}

function described(statuses: Readonly<Record<number, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(statuses).map(([status, description]) => [status, problemAnswer(description)]),
  )
}

// All that these routes answer is of the moment, errors from before the handler included.
function forbidStoringOnSend(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: (error: null, payload: unknown) => void,
): void {
  reply.header('cache-control', 'no-store')
  next(null, payload)
}

function routeOf(
  keyStyle: KeyStyle,
  operationId: string,
  summary: string,
  response: unknown,
): RouteShorthandOptions {
  return {
    errorHandler: refuseThrown,
    onSend: forbidStoringOnSend,
    schema: {
      operationId,
      summary,
      tags: ['operations'],
      params: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
      response,
    },
    config: {
      // A precondition would make a 304 of a poll: `If-None-Match: *` is met by whatever is there.
      caching: false,
      // In camelCase it is as the rule has it.
      responseRules:
        keyStyle === 'camelCase'
          ? {}
          : { except: ['keys'], reason: 'generic clients look for resourceLocation' },
    },
  } as RouteShorthandOptions
}
