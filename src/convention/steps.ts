import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Phase } from '../fastify/order.js'
import { hookError, passString } from '../fastify/reply.js'
import type { ProblemError } from '../problem/problem-error.js'
import { refuse, refuseOnSend } from '../problem/send-problem.js'
import type { Mode } from '../rules/modes.js'
import type { Reporter } from '../rules/report.js'

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
interface Answer {
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

/** The steps of a convention on a route, by phase. */
export interface Steps {
  readonly onRequest?: RequestStep | undefined
  /** Its payload is the stream of the body. */
  readonly preParsing?: PayloadStep | undefined
  readonly preValidation?: RequestStep | undefined
  readonly preHandler?: RequestStep | undefined
  readonly preSerialization?: PayloadStep | undefined
  readonly onSend?: PayloadStep | undefined
  /** Runs in the phase `onSend`, after the hooks of the route. */
  readonly lastOnSend?: PayloadStep | undefined
  /** Runs where a hook of the phase `onSend` may have failed. Only headers take effect. */
  readonly onError?: RequestStep | undefined
}

/** The mode of each rule on a route, and under `*` that of what no rule names. */
export type ModeOf = Readonly<Record<string, Mode>>

/** Passes on an error, or the payload. */
export type Next = (error?: Error | null, payload?: unknown) => void
/** A hook with a payload. */
export type Hook = (request: FastifyRequest, reply: FastifyReply, payload: unknown, next: Next) => void

/** What applies or counts the effects of a convention. */
export interface Runner {
  readonly name: string
  readonly reporter: Reporter
  /** Returns the modes of the route of a request. */
  modesOf(request: FastifyRequest): ModeOf
  /** Refuses a request in the phase of the step. */
  readonly refuse: typeof refuse | typeof refuseOnSend
}

/** Returns how a request is refused in a phase. */
export function refusalIn(phase: Phase): Runner['refuse'] {
  return phase === 'onSend' ? refuseOnSend : refuse
}

/** Runs a step, and applies or counts its effects. */
export function runStep(
  runner: Runner,
  step: PayloadStep,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
): void {
  let result: StepResult
  try {
    result = step(request, reply, payload)
  } catch (error) {
    next(hookError(error))
    return
  }
  if (result === undefined) next(null, payload)
  else if ('then' in result) {
    result.then(
      (effects) => settle(runner, effects, request, reply, payload, next),
      (error: unknown) => next(hookError(error)),
    )
  } else settle(runner, result, request, reply, payload, next)
}

function settle(
  runner: Runner,
  effects: Effects,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
): void {
  if (effects === undefined) {
    next(null, payload)
    return
  }
  const modeOf = runner.modesOf(request)
  let sent = payload
  if (!Array.isArray(effects)) sent = apply(runner, effects as Effect, modeOf, request, reply, sent, next)
  else {
    for (const effect of effects as readonly Effect[]) {
      sent = apply(runner, effect, modeOf, request, reply, sent, next)
      if (sent === ended) return
    }
  }
  if (sent !== ended) next(null, sent)
}

/** The request has ended, or the hook has. */
const ended = Symbol('ended')

/** Applies or counts an effect. Returns the payload, or {@link ended}. */
function apply(
  { name, reporter, refuse: refuseInPhase }: Runner,
  effect: Effect,
  modeOf: ModeOf,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
): unknown {
  const { rule, given, headers, change, answer, refusal, notice } = effect
  const mode = effect.isNeeded === true ? 'enforce' : (modeOf[rule] ?? modeOf['*'])
  if (mode === 'off') return payload
  if (notice !== undefined) {
    reporter.observe(name, rule, request, given, 'none', notice)
    return payload
  }
  if (mode === 'report') {
    count(name, effect, request, reply, reporter)
    return payload
  }
  if (refusal !== undefined) {
    refuseInPhase(request, reply, refusal, next)
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
  name: string,
  { rule, given, refusal, headers }: Effect,
  request: FastifyRequest,
  reply: FastifyReply,
  reporter: Reporter,
): void {
  if (refusal === undefined) {
    const isAdded = headers !== undefined && !Object.keys(headers).some((field) => reply.hasHeader(field))
    reporter.observe(name, rule, request, given, isAdded ? 'header added' : 'changed')
    return
  }
  const { raw } = reply
  // What the app answers says whether `enforce` would lose the request: an error of the app is not lost.
  raw.once('finish', () => {
    if (raw.statusCode < 400) reporter.observe(name, rule, request, given, refusal.statusCode)
    else reporter.observe(name, rule, request, `${given}: ${raw.statusCode} anyway`, 'changed')
  })
}

/** Returns a hook of a phase, as Fastify calls it. */
export function hookOfPhase(phase: Phase, hook: Hook): (...parameters: never[]) => void {
  if (phase === 'preSerialization' || phase === 'onSend' || phase === 'preParsing') return hook
  // A step has no use for the error.
  if (phase === 'onError') {
    return function runStep(request: FastifyRequest, reply: FastifyReply, _error: unknown, next: Next) {
      hook(request, reply, undefined, () => next())
    }
  }
  return function runStep(request: FastifyRequest, reply: FastifyReply, next: Next) {
    hook(request, reply, undefined, (error) => (error ? next(error) : next()))
  }
}
