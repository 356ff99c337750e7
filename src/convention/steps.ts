import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { refuse, refuseOnSend } from '../problem/send-problem.js'
import type { Mode } from '../report/modes.js'
import type { Reporter } from '../report/report.js'
import { type Phase, placeOf, type Side } from './order.js'
import { hookError, passString } from './reply.js'

/** What a step says about a request or a response. `enforce` applies it, `report` counts it. */
export interface Effect {
  /** The rule that the request or the response breaks. One that the convention does not list has the mode of the plugin. */
  readonly rule: string
  /** What broke it, for the report. Never has values of a body. */
  readonly given: string
  /** Ends the request with a problem. */
  readonly refusal?: ProblemError | undefined
  /** Sets header fields of the response. */
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined
  /** Changes the request. */
  readonly change?: (() => void) | undefined
  /** Replaces the payload, in phases that have one. */
  readonly payload?: unknown
  /** Ends the request with a response, before the phases with a payload. */
  readonly answer?: Answer | undefined
  /** Counted in `enforce`, too: nothing can be done about it any more. Logged once for each of these. */
  readonly notice?: 'each rule' | 'each route' | undefined
  /** Whether it is applied in each mode: the handler relies on it. */
  readonly isNeeded?: boolean | undefined
}

/** A response that a step gives in place of the handler. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly payload?: unknown
  /** Whether the payload is sent as it is, and not serialized. */
  readonly isWritten?: boolean
}

/** Nothing, an effect, or one for each rule. */
type Effects = Effect | readonly Effect[] | undefined

/** What a step returns: effects, or a promise of them. */
export type StepResult = Effects | PromiseLike<Effects>

/** Decides about a request. It neither sends nor calls `next`. What it throws is an error of the request. */
export type RequestStep = (request: FastifyRequest, reply: FastifyReply) => StepResult

/** Decides about a payload. */
export type PayloadStep = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => StepResult

/**
 * The steps of a convention on a route, by phase. The table `order` has the place of each among the steps of other
 * conventions and the hooks of the app. A member with `last` runs after the hooks of the route.
 */
export interface Steps {
  readonly onRequest?: RequestStep | undefined
  readonly lastOnRequest?: RequestStep | undefined
  /** Its payload is the stream of the body. */
  readonly preParsing?: PayloadStep | undefined
  readonly preValidation?: RequestStep | undefined
  readonly preHandler?: RequestStep | undefined
  readonly preSerialization?: PayloadStep | undefined
  /** Runs last in the phase `preSerialization`. Conventions that give the same function share it: it runs once. */
  readonly serialization?: PayloadStep | undefined
  readonly onSend?: PayloadStep | undefined
  readonly lastOnSend?: PayloadStep | undefined
  /** Runs where a hook of the phase `onSend` may have failed. Only headers take effect. */
  readonly onError?: RequestStep | undefined
}

/** Where a step runs. */
export interface StepPlace {
  readonly member: keyof Steps
  /** Its name in the table. */
  readonly name: string
  readonly phase: Phase
  readonly rank: number
  readonly side: Side
}

const phaseOf: Readonly<Record<keyof Steps, Phase>> = {
  onRequest: 'onRequest',
  lastOnRequest: 'onRequest',
  preParsing: 'preParsing',
  preValidation: 'preValidation',
  preHandler: 'preHandler',
  preSerialization: 'preSerialization',
  serialization: 'preSerialization',
  onSend: 'onSend',
  lastOnSend: 'onSend',
  onError: 'onError',
}

const placesByConvention = new Map<string, readonly StepPlace[]>()

/** Returns where the steps of a convention run. */
export function placesOf(convention: string): readonly StepPlace[] {
  const known = placesByConvention.get(convention)
  if (known !== undefined) return known
  const places = (Object.keys(phaseOf) as (keyof Steps)[]).map((member) => {
    const phase = phaseOf[member]
    const isLast = member.startsWith('last')
    const name = member === 'serialization' ? member : isLast ? `${convention}:last` : convention
    return { member, name, phase, ...placeOf(phase, name) }
  })
  placesByConvention.set(convention, places)
  return places
}

/** The mode of each rule on a route, and under `*` that of what no rule names. */
export type ModeOf = Readonly<Record<string, Mode>>

/** Passes on an error, or the payload. */
export type Next = (error?: Error | null, payload?: unknown) => void

/** A convention on a route. The members change only before the app is ready. */
export interface Part {
  readonly convention: string
  readonly reporter: Reporter
  steps: Steps
  modeOf: ModeOf
}

/** A step at its place. */
export interface PlacedStep {
  readonly name: string
  readonly part: Part
  readonly run: PayloadStep
}

/** Steps that one hook of a request runs. */
export interface Turn {
  readonly steps: readonly PlacedStep[]
  readonly phase: Phase
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly next: Next
}

/** Sees what steps say, while a request is explained. */
export const witness: {
  see: ((step: PlacedStep, phase: Phase, effects: Effects) => void) | null
} = { see: null }

/** Runs steps one after the other, and applies or counts their effects. */
export function runSteps(turn: Turn, payload: unknown, from = 0): void {
  const { steps, request, reply, next } = turn
  let sent = payload
  for (let index = from; index < steps.length; index++) {
    const step = steps[index] as PlacedStep
    let result: StepResult
    try {
      result = step.run(request, reply, sent)
    } catch (error) {
      next(hookError(error))
      return
    }
    if (result !== undefined && 'then' in result) {
      awaitEffects(turn, step, result, sent, index + 1)
      return
    }
    if (witness.see !== null) witness.see(step, turn.phase, result)
    if (result === undefined) continue
    sent = settle(turn, step.part, result, sent)
    if (sent === ended) return
  }
  next(null, sent)
}

// In a function of its own, so that the loop makes no closures.
function awaitEffects(
  turn: Turn,
  step: PlacedStep,
  promise: PromiseLike<Effects>,
  payload: unknown,
  from: number,
): void {
  promise.then(
    (effects) => {
      witness.see?.(step, turn.phase, effects)
      const sent = effects === undefined ? payload : settle(turn, step.part, effects, payload)
      if (sent !== ended) runSteps(turn, sent, from)
    },
    (error: unknown) => turn.next(hookError(error)),
  )
}

/** The request has ended, or the hook has. */
const ended = Symbol('ended')

/** Applies or counts effects. Returns the payload, or {@link ended}. */
function settle(turn: Turn, part: Part, effects: Exclude<Effects, undefined>, payload: unknown): unknown {
  if (!Array.isArray(effects)) return apply(turn, part, effects as Effect, payload)
  let sent = payload
  for (const effect of effects as readonly Effect[]) {
    sent = apply(turn, part, effect, sent)
    if (sent === ended) break
  }
  return sent
}

function apply(turn: Turn, part: Part, effect: Effect, payload: unknown): unknown {
  const { phase, request, reply, next } = turn
  const { headers, answer, refusal } = effect
  const mode = modeOfEffect(effect, part.modeOf)
  if (mode === 'off') return payload
  if (mode === 'report' || effect.notice !== undefined) {
    count(part, effect, request, reply)
    return payload
  }
  if (refusal !== undefined) {
    if (phase === 'onSend') refuseOnSend(request, reply, refusal, next)
    else refuse(request, reply, refusal, next)
    return ended
  }
  try {
    effect.change?.()
    if (headers !== undefined) reply.headers(headers)
  } catch (error) {
    next(hookError(error))
    return ended
  }
  if (answer !== undefined) {
    reply.code(answer.status).headers(answer.headers ?? {})
    ;(answer.isWritten === true ? passString(reply) : reply).send(answer.payload)
    return ended
  }
  return effect.payload === undefined ? payload : effect.payload
}

export function modeOfEffect({ isNeeded, rule }: Effect, modeOf: ModeOf): Mode | undefined {
  return isNeeded === true ? 'enforce' : (modeOf[rule] ?? modeOf['*'])
}

function count(
  { convention, reporter }: Part,
  { rule, given, refusal, headers, notice }: Effect,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const observe = (text: string, outcome: Parameters<Reporter['observe']>[4]): void =>
    reporter.observe(convention, rule, request, text, outcome, notice)
  if (notice !== undefined) observe(given, 'none')
  else if (refusal === undefined) {
    const isAdded = headers !== undefined && !Object.keys(headers).some((field) => reply.hasHeader(field))
    observe(given, isAdded ? 'header added' : 'changed')
  } else {
    const { raw } = reply
    // What the app answers says whether `enforce` would lose the request: an error of the app is not lost.
    raw.once('finish', () => {
      if (raw.statusCode < 400) observe(given, refusal.statusCode)
      else observe(`${given}: ${raw.statusCode} anyway`, 'changed')
    })
  }
}
