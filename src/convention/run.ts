import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { kept } from '../kept.js'
import { refuse, refuseOnSend } from '../problem/send-problem.js'
import type { Mode } from '../report/modes.js'
import { logOf, type Reporter } from '../report/report.js'
import { hookError, isPreflight, passString } from './exchange.js'
import { replyHeaders } from './internals.js'
import { corsDecorator } from './neighbours.js'
import type { Phase, Place, StepPlace } from './order.js'
import { appSlot, requestSlot, routeSlot } from './slots.js'
import type { Effect, Effects, ModeOf, Next, PayloadStep, RequestStep, StepResult, Steps } from './steps.js'

/** A convention on a route. The members change only before the app is ready. */
export interface Part {
  readonly convention: string
  /** Where its steps run, by the members of {@link Steps}. */
  readonly places: ReadonlyMap<string, StepPlace>
  readonly reporter: Reporter
  steps: Steps
  modeOf: ModeOf
}

export interface PlacedStep {
  readonly place: StepPlace
  readonly part: Part
  readonly run: PayloadStep
}

/** What the conventions do on a route: their parts, and once the app is ready, the steps of each place. */
export interface CompiledRoute {
  readonly parts: Part[]
  readonly steps: Map<Place, PlacedStep[]>
  /** The hooks that run them: those of a GET route serve the HEAD route that Fastify adds. */
  readonly hooks: Map<Place, AnyHook>
}

export const newRoute = (): CompiledRoute => ({ parts: [], steps: new Map(), hooks: new Map() })

export const compiledOf = routeSlot<CompiledRoute>('compiled')
const compiledOn = requestSlot<CompiledRoute>('compiled')

/** What the conventions of a context do on paths without a route, and on routes that were declared before them. */
export const unserved = appSlot<{ readonly unknown: CompiledRoute; readonly earlier: CompiledRoute }>(
  'unserved',
)

/** Returns what the conventions do on the route of a request. Fastify builds `routeOptions` anew at each reading. */
function routeOf(request: FastifyRequest): CompiledRoute {
  const known = compiledOn.get(request)
  if (known !== undefined) return known
  const route =
    compiledOf.of(request) ?? unserved.get(request.server)?.[request.is404 ? 'unknown' : 'earlier']
  compiledOn.set(request, route ?? nothing)
  return route ?? nothing
}

const nothing = newRoute()
const noSteps: readonly PlacedStep[] = []

/** Returns the steps of the paths of a context that have no route, before the hooks of the app. */
export function stepsWithoutRoute(app: FastifyInstance, phase: Phase): readonly PlacedStep[] {
  return unserved.get(app)?.unknown.steps.get(`${phase} beforeApp`) ?? noSteps
}

export type AnyHook = (...parameters: never[]) => void

// A registered symbol: two copies of this package may serve one app.
export const ofConventions = Symbol.for('fastify-conventions.hook')

const phasesWithPayload: ReadonlySet<Phase> = new Set(['preParsing', 'preSerialization', 'onSend'])

type StepsOf = (request: FastifyRequest) => readonly PlacedStep[]

/** Returns a hook that runs steps, with the parameters that Fastify gives to hooks of the phase. */
function hookAt(phase: Phase, place: Place, stepsOf: StepsOf): AnyHook {
  // The names are constant: Fastify binds each hook, and V8 makes a dictionary of a function with a name of its own.
  function conventionsWithPayload(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void {
    runSteps(stepsOf(request), phase, request, reply, next, payload)
  }
  function conventions(request: FastifyRequest, reply: FastifyReply, next: Next): void {
    runSteps(stepsOf(request), phase, request, reply, next, undefined)
  }
  // Steps do not handle errors: the response is sent without the step.
  function conventionsOnError(request: FastifyRequest, reply: FastifyReply, _: unknown, next: Next): void {
    conventions(request, reply, () => next())
  }
  const hook =
    phase === 'onError'
      ? conventionsOnError
      : phasesWithPayload.has(phase)
        ? conventionsWithPayload
        : conventions
  return Object.assign(hook, { [ofConventions]: place })
}

/** Returns the hook of all routes of an app for a phase. */
export function hookOfApp(phase: Phase): AnyHook {
  const place: Place = `${phase} beforeApp`
  return hookAt(phase, place, (request) => routeOf(request).steps.get(place) ?? noSteps)
}

/** Returns the hook of a route for a place, whose steps are known later. */
export function hookOfRoute({ steps }: CompiledRoute, phase: Phase, place: Place): AnyHook {
  const there = kept(steps, place, () => [])
  return hookAt(phase, place, () => there)
}

export interface Turn {
  readonly steps: readonly PlacedStep[]
  readonly phase: Phase
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly next: Next
}

/** Sees what steps say, while a request is explained. */
export const witness: {
  see: ((step: PlacedStep, turn: Turn, effects: Effects) => void) | null
} = { see: null }

/** Runs steps one after the other, and applies or counts their effects. */
export function runSteps(
  steps: readonly PlacedStep[],
  phase: Phase,
  request: FastifyRequest,
  reply: FastifyReply,
  next: Next,
  payload: unknown,
  from = 0,
): void {
  let sent = payload
  // Made for the first step that says something: most say nothing.
  let turn: Turn | undefined
  for (let index = from; index < steps.length; index++) {
    const step = steps[index] as PlacedStep
    let result: StepResult
    try {
      result = step.run(request, reply, sent)
    } catch (error) {
      if (countedInReport(request, step, error)) continue
      next(hookError(error))
      return
    }
    if (result === undefined && witness.see === null) continue
    turn ??= { steps, phase, request, reply, next }
    if (result !== undefined && 'then' in result) {
      awaitEffects(turn, step, result, sent, index + 1)
      return
    }
    witness.see?.(step, turn, result)
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
  const { steps, phase, request, reply, next } = turn
  promise.then(
    (effects) => {
      witness.see?.(step, turn, effects)
      const sent = effects === undefined ? payload : settle(turn, step.part, effects, payload)
      if (sent !== ended) runSteps(steps, phase, request, reply, next, sent, from)
    },
    (error: unknown) => {
      if (countedInReport(request, step, error)) runSteps(steps, phase, request, reply, next, payload, from)
      else next(hookError(error))
    },
  )
}

/** In `report`, counts and logs what a step throws, and returns true: the request goes on. Otherwise returns false. */
function countedInReport(
  request: FastifyRequest,
  { place: { name }, part }: PlacedStep,
  err: unknown,
): boolean {
  if (part.modeOf['*'] !== 'report') return false
  part.reporter.observe(part.convention, 'error', request, `the step ${name} fails`, 500)
  logOf(request)?.error({ err }, `${name}: the step fails, and would fail the request`)
  return true
}

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
    if (headers !== undefined) setHeaders(reply, headers)
  } catch (error) {
    next(hookError(error))
    return ended
  }
  if (answer !== undefined) {
    if (phase === 'preSerialization' || phase === 'onSend') {
      next(new TypeError(`${part.convention}: a step of ${phase} cannot answer, because there is a response`))
      return ended
    }
    reply.code(answer.status).headers(answer.headers ?? {})
    ;(answer.isWritten === true ? passString(reply) : reply).send(answer.payload)
    return ended
  }
  return effect.payload === undefined ? payload : effect.payload
}

function setHeaders(reply: FastifyReply, headers: NonNullable<Effect['headers']>): void {
  const fields = replyHeaders(reply)
  for (const name in headers) {
    if (!Object.hasOwn(headers, name)) continue
    const value = headers[name] ?? ''
    if (isLowercase(name)) fields[name] = value
    else reply.header(name, value)
  }
}

const lowercase = new Set<string>()

/** Whether `reply.header()` would only replace the field: it writes names in lowercase, and adds to `Set-Cookie`. */
function isLowercase(name: string): boolean {
  if (lowercase.has(name)) return true
  if (name === 'set-cookie' || name !== name.toLowerCase() || lowercase.size >= maxNames) return false
  lowercase.add(name)
  return true
}

const maxNames = 1000

export function modeOfEffect({ isNeeded, rule }: Effect, modeOf: ModeOf): Mode | undefined {
  return isNeeded === true ? 'enforce' : (modeOf[rule] ?? modeOf['*'])
}

function count(
  { convention, reporter }: Part,
  { rule, refusal, given = refusal?.message ?? '', headers, notice }: Effect,
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

/** Returns the steps of a convention that does not apply to the preflights which @fastify/cors answers. */
export function besideCors(step: RequestStep, isServed: boolean): Pick<Steps, 'onRequest' | 'lastOnRequest'> {
  return {
    onRequest: (request, reply) =>
      mayBeAnswered(request) && !request.is404 ? undefined : step(request, reply),
    // The hook of @fastify/cors has left this preflight to the route.
    ...(isServed && {
      lastOnRequest: (request, reply) => (mayBeAnswered(request) ? step(request, reply) : undefined),
    }),
  }
}

/** Whether a request is a preflight in a context with @fastify/cors, which has a decorator. */
function mayBeAnswered(request: FastifyRequest): boolean {
  return isPreflight(request) && corsDecorator in request
}
