import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import type { ConventionsReport } from '../report/findings.js'
import type { Phase } from './order.js'
import { modeOfEffect, type PlacedStep, type Turn, witness } from './run.js'
import type { Effect, ModeOf } from './steps.js'

/** What a step said about a request. */
export interface ExplainedStep {
  readonly phase: Phase
  /** The convention; with `:last` its step after the hooks of the route. */
  readonly step: string
  /** What it said: `nothing`, or what `enforce` does. `counted` in a mode that applies nothing. */
  readonly said: 'nothing' | 'counted' | 'headers' | 'changed' | 'refused' | 'answered'
  /** The header fields, the code of the problem, the status of the answer. */
  readonly detail: string
}

/** The way of a request through the conventions. */
export interface Explanation {
  readonly status: number
  /** The steps that the request has passed, in their order. The last one that `refused` or `answered` ended it. */
  readonly steps: readonly ExplainedStep[]
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The conventions of this context. */
    conventions: {
      /** Returns a snapshot of the findings, exceptions and observations so far. */
      report(): ConventionsReport
      /**
       * Sends a request with `app.inject()`, and returns the steps of the conventions that it passed, and what each said.
       * The request is a real one: its handler runs. Nothing is recorded for other requests.
       */
      explain(request: InjectOptions | string): Promise<Explanation>
      /**
       * Returns the steps of a request that is being served: the array grows with each. Call it in an `onRequest` hook that
       * stands before the conventions. For development: the steps of all requests are looked at from then on.
       */
      watch(request: FastifyRequest): readonly ExplainedStep[]
    }
  }
}

const storage = new AsyncLocalStorage<ExplainedStep[]>()
const watched = new WeakMap<object, ExplainedStep[]>()
let explained = 0

export function watch({ raw }: FastifyRequest): readonly ExplainedStep[] {
  const steps: ExplainedStep[] = []
  watched.set(raw, steps)
  // Never reset: no event says that a watched request has passed its last step.
  explained = Number.POSITIVE_INFINITY
  witness.see = see
  return steps
}

function see(
  { place: { name }, part: { modeOf } }: PlacedStep,
  { phase, request }: Turn,
  result: unknown,
): void {
  const steps = watched.get(request.raw) ?? storage.getStore()
  for (const effect of [result].flat()) {
    steps?.push({ phase, step: name, ...wordsOf(effect as Effect | undefined, modeOf) })
  }
}

export async function explain(app: FastifyInstance, request: InjectOptions | string): Promise<Explanation> {
  await app.ready()
  const steps: ExplainedStep[] = []
  explained++
  witness.see = see
  try {
    const { statusCode } = await storage.run(steps, async () => app.inject(request))
    return { status: statusCode, steps }
  } finally {
    explained--
    // Other requests are not watched.
    if (explained === 0) {
      witness.see = null
      storage.disable()
    }
  }
}

function wordsOf(effect: Effect | undefined, modeOf: ModeOf): Pick<ExplainedStep, 'said' | 'detail'> {
  if (effect === undefined) return { said: 'nothing', detail: '' }
  const { rule, refusal, given = refusal?.message ?? '', answer, headers, notice } = effect
  const mode = modeOfEffect(effect, modeOf)
  if (mode === 'off') return { said: 'nothing', detail: '' }
  if (mode === 'report' || notice !== undefined) return { said: 'counted', detail: `${rule}: ${given}` }
  if (refusal !== undefined) return { said: 'refused', detail: `${refusal.statusCode} ${refusal.code}` }
  if (answer !== undefined) return { said: 'answered', detail: String(answer.status) }
  if (headers !== undefined) return { said: 'headers', detail: Object.keys(headers).join(', ') }
  return { said: 'changed', detail: rule }
}
