import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isProblemError, type ProblemError } from '../problem/problem-error.js'
import { order } from './order.js'
import { stepsWithoutRoute } from './registry.js'
import { appSlot } from './slots.js'
import { type Next, runSteps } from './steps.js'

// What `serverOptions()` answers: malformed URLs and over-long parameters, which are errors of the root and no hook sees.

const firstConventions: readonly string[] = order.onRequest.slice(0, order.onRequest.indexOf('problems'))
const phasesOfFirst = ['onRequest', 'onSend'] as const

/**
 * Runs the steps of the conventions that stand before `problems`: they set header fields of all responses, or refuse all
 * requests. Calls `answer`, with the problem of a refusal that is passed on, unless a step sends the reply.
 */
export function runFirstSteps(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (refusal: ProblemError | null) => void,
): void {
  const turns = phasesOfFirst.flatMap((phase) =>
    stepsWithoutRoute(request.server, phase)
      .filter(({ name }) => firstConventions.includes(name))
      .map((step) => ({ steps: [step], phase })),
  )
  let index = 0
  const next: Next = (error) => {
    const turn = turns[index++]
    if (isProblemError(error)) return answer(error)
    if (error) request.log.error({ err: error }, 'headers of an error failed')
    if (turn === undefined) answer(null)
    else runSteps({ ...turn, request, reply, next }, undefined)
  }
  next()
}

type Fields = Readonly<Record<string, string>>

/** Header fields of a response, with TLS and without. */
interface RawFields {
  readonly secure: Fields
  readonly plain: Fields
}

const rawFields = appSlot<RawFields>('rawFields')

export function declareRawFields(app: FastifyInstance, fields: RawFields): void {
  if (rawFields.own(app) === undefined) rawFields.set(app, fields)
}

export function rawFieldsOf(app: FastifyInstance, socket: Duplex): Fields {
  const fields = rawFields.get(app)
  if (fields === undefined) return {}
  return 'encrypted' in socket ? fields.secure : fields.plain
}

/**
 * Whether a request of HTTP/1.0 has `Transfer-Encoding`. A proxy may have read another length, so the connection has to be
 * closed (RFC 9112 §6.1).
 */
export function isFramingFaulty({ raw }: FastifyRequest): boolean {
  return raw.httpVersionMinor === 0 && raw.httpVersionMajor === 1 && 'transfer-encoding' in raw.headers
}
