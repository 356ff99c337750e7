import type { FastifyReply, FastifyRequest } from 'fastify'
import { isProblemError, type ProblemError } from '../problem/problem-error.js'
import { order } from './order.js'
import { runSteps, stepsWithoutRoute } from './run.js'
import { appSlot } from './slots.js'
import type { Next } from './steps.js'

// What `serverOptions()` answers: malformed URLs and over-long parameters, which are errors of the root and no hook sees.

const firstConventions: readonly string[] = order.onRequest.slice(0, order.onRequest.indexOf('problems'))
const phasesOfFirst = ['onRequest', 'onSend'] as const
type Turn = readonly [convention: string, phase: (typeof phasesOfFirst)[number]]
const turnsOfFirst: readonly Turn[] = [
  // By convention: a refusal ends the request, so the fields of those before it are already set.
  ...firstConventions.flatMap((convention) => phasesOfFirst.map((phase): Turn => [convention, phase])),
  // These responses announce the end of their version. After it they stay 400 and 414.
  ['versions', 'onSend'],
]

/**
 * Runs the steps of the conventions that stand before `problems`, which set header fields of all responses or refuse all
 * requests, and the step of `versions` that sets header fields. Calls `answer`, with the problem of a refusal that is passed
 * on, unless a step sends the reply.
 */
export function runFirstSteps(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (refusal: ProblemError | null) => void,
): void {
  const turns = turnsOfFirst.flatMap(([convention, phase]) =>
    stepsWithoutRoute(request.server, phase)
      .filter(({ place }) => place.name === convention)
      .map((step) => ({ steps: [step], phase })),
  )
  let index = 0
  const next: Next = (error) => {
    const turn = turns[index++]
    if (isProblemError(error)) return answer(error)
    if (error) request.log.error({ err: error }, 'headers of an error failed')
    if (turn === undefined) answer(null)
    else runSteps(turn.steps, turn.phase, request, reply, next, undefined)
  }
  next()
}

type Fields = Readonly<Record<string, string>>

/** The header fields of responses on connections without a request, with TLS and without. */
export const rawFields = appSlot<{ readonly secure: Fields; readonly plain: Fields }>('rawFields')
