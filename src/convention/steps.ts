import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { refuse, refuseOnSend } from '../problem/send-problem.js'
import type { Mode } from '../report/modes.js'
import type { Reporter } from '../report/report.js'
import type { Phase } from './order.js'
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

/** The phase of each member of {@link Steps}, and how the table calls it. */
export const memberPlaces: readonly {
  readonly member: keyof Steps
  readonly phase: Phase
  stepOf(convention: string): string
}[] = [
  { member: 'onRequest', phase: 'onRequest', stepOf: (name) => name },
  { member: 'lastOnRequest', phase: 'onRequest', stepOf: (name) => `${name}:last` },
  { member: 'preParsing', phase: 'preParsing', stepOf: (name) => name },
  { member: 'preValidation', phase: 'preValidation', stepOf: (name) => name },
  { member: 'preHandler', phase: 'preHandler', stepOf: (name) => name },
  { member: 'preSerialization', phase: 'preSerialization', stepOf: (name) => name },
  { member: 'serialization', phase: 'preSerialization', stepOf: () => 'serialization' },
  { member: 'onSend', phase: 'onSend', stepOf: (name) => name },
  { member: 'lastOnSend', phase: 'onSend', stepOf: (name) => `${name}:last` },
  { member: 'onError', phase: 'onError', stepOf: (name) => name },
]

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

/** Sees what steps say, while a request is explained. */
export const witness: {
  see: ((step: PlacedStep, phase: Phase, effects: Effects) => void) | null
} = { see: null }

/** Runs steps one after the other, and applies or counts their effects. */
export function runSteps(
  steps: readonly PlacedStep[],
  phase: Phase,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
  from = 0,
): void {
  for (let index = from; index < steps.length; index++) {
    const step = steps[index] as PlacedStep
    const { part, run } = step
    let result: StepResult
    try {
      result = run(request, reply, payload)
    } catch (error) {
      next(hookError(error))
      return
    }
    if (result !== undefined && 'then' in result) {
      awaitEffects(step, result, steps, phase, request, reply, payload, next, index + 1)
      return
    }
    if (witness.see !== null) witness.see(step, phase, result)
    if (result === undefined) continue
    payload = settle(part, result, phase, request, reply, payload, next)
    if (payload === ended) return
  }
  next(null, payload)
}

// In a function of its own, so that the loop makes no closures.
function awaitEffects(
  step: PlacedStep,
  promise: PromiseLike<Effects>,
  steps: readonly PlacedStep[],
  phase: Phase,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
  from: number,
): void {
  promise.then(
    (effects) => {
      witness.see?.(step, phase, effects)
      const sent =
        effects === undefined ? payload : settle(step.part, effects, phase, request, reply, payload, next)
      if (sent !== ended) runSteps(steps, phase, request, reply, sent, next, from)
    },
    (error: unknown) => next(hookError(error)),
  )
}

/** The request has ended, or the hook has. */
const ended = Symbol('ended')

/** Applies or counts effects. Returns the payload, or {@link ended}. */
function settle(
  part: Part,
  effects: Exclude<Effects, undefined>,
  phase: Phase,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
): unknown {
  if (!Array.isArray(effects)) return apply(part, effects as Effect, phase, request, reply, payload, next)
  let sent = payload
  for (const effect of effects as readonly Effect[]) {
    sent = apply(part, effect, phase, request, reply, sent, next)
    if (sent === ended) break
  }
  return sent
}

function apply(
  { convention, reporter, modeOf }: Part,
  effect: Effect,
  phase: Phase,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
): unknown {
  const { rule, given, headers, change, answer, refusal, notice } = effect
  const mode = effect.isNeeded === true ? 'enforce' : (modeOf[rule] ?? modeOf['*'])
  if (mode === 'off') return payload
  if (notice !== undefined) {
    reporter.observe(convention, rule, request, given, 'none', notice)
    return payload
  }
  if (mode === 'report') {
    count(convention, effect, request, reply, reporter)
    return payload
  }
  if (refusal !== undefined) {
    if (phase === 'onSend') refuseOnSend(request, reply, refusal, next)
    else refuse(request, reply, refusal, next)
    return ended
  }
  try {
    change?.()
    if (headers !== undefined) reply.headers(headers)
  } catch (error) {
    next(hookError(error))
    return ended
  }
  if (answer !== undefined) {
    send(reply, answer)
    return ended
  }
  return effect.payload === undefined ? payload : effect.payload
}

function send(reply: FastifyReply, { status, headers = {}, payload, isWritten = false }: Answer): void {
  reply.code(status).headers(headers)
  ;(isWritten ? passString(reply) : reply).send(payload)
}

function count(
  convention: string,
  { rule, given, refusal, headers }: Effect,
  request: FastifyRequest,
  reply: FastifyReply,
  reporter: Reporter,
): void {
  if (refusal === undefined) {
    const isAdded = headers !== undefined && !Object.keys(headers).some((field) => reply.hasHeader(field))
    reporter.observe(convention, rule, request, given, isAdded ? 'header added' : 'changed')
    return
  }
  const { raw } = reply
  // What the app answers says whether `enforce` would lose the request: an error of the app is not lost.
  raw.once('finish', () => {
    if (raw.statusCode < 400) reporter.observe(convention, rule, request, given, refusal.statusCode)
    else reporter.observe(convention, rule, request, `${given}: ${raw.statusCode} anyway`, 'changed')
  })
}
