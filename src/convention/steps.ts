import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import type { Mode } from '../report/modes.js'

/** What a step says about a request or a response. `enforce` applies it, `report` counts it. */
export interface Effect {
  /** The rule that the request or the response breaks. One that the convention does not list has the mode of the plugin. */
  readonly rule: string
  /**
   * What broke it, for the report. Never has values of a body.
   * @default the detail of the refusal
   */
  readonly given?: string | undefined
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

export type Effects = Effect | readonly Effect[] | undefined

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

/** The mode of each rule on a route, and under `*` that of what no rule names. */
export type ModeOf = Readonly<Record<string, Mode>>

export type Next = (error?: Error | null, payload?: unknown) => void
