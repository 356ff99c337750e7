import { forgetContent, lengthOf, markRequest, type RawRequest } from '../../fastify/raw-request.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { ProblemError } from '../../problem/problem-error.js'
import { type OverrideDecision, type OverrideRules, overrideDecision } from './override-decision.js'
import type { PendingBodies } from './pending-bodies.js'
import { readAhead } from './read-ahead.js'
import { takeField } from './take-field.js'

/** What holds for the POSTs of a context. */
export interface OverrideScope extends OverrideRules {
  /** The prefix of the context's routes. */
  readonly prefix: string
  /** Is the field of a form looked at? */
  readonly form: boolean
  readonly mode: 'enforce' | 'report'
  /** The most bytes of a form that are read before its request is routed. */
  readonly bodyLimit: number
  /** The bodies that are being read. */
  readonly pending: PendingBodies
  /** Whether the path of a request has a route for any method that it may be performed as. */
  isServed(raw: RawRequest): boolean
  /** Is told of a client that gave up while its form was read. */
  onAbandoned(raw: RawRequest): void
}

/** The media type of a form that a browser sends by itself. */
export const formType = 'application/x-www-form-urlencoded'

/**
 * Makes a POST what it says it stands for, before it is routed: its method is set, the field is taken out of the form,
 * and what was decided is remembered. One that is refused stays a POST, and a hook refuses it.
 *
 * @param proceed routes it; not called where the client gives up before its form was there
 */
export function overridePost(raw: RawRequest, scope: OverrideScope, proceed: () => void): void {
  const header = headerOf(raw, scope.header)
  if (scope.form && isForm(raw) && lengthOf(raw) !== 0 && scope.isServed(raw)) {
    readForm(raw, header, scope, proceed)
  } else if (header === undefined) proceed()
  else {
    settle(raw, overrideDecision({ header, form: [], source: raw.headers }, scope), false, scope)
    if (raw.method === 'DELETE') forgetNoContent(raw, scope, proceed)
    else proceed()
  }
}

function readForm(
  raw: RawRequest,
  header: string | undefined,
  scope: OverrideScope,
  proceed: () => void,
): void {
  readAhead(raw, scope.bodyLimit, scope.pending, {
    take({ bytes, isWhole }) {
      if (!isWhole) {
        tooLarge(raw, scope)
        return bytes
      }
      const { values, rest } = takeField(bytes.toString('latin1'), scope.field)
      const decision = overrideDecision({ header, form: values, source: raw.headers }, scope)
      settle(raw, decision, true, scope)
      if (raw.method === 'POST') return bytes.length > 0 ? bytes : noFields
      if (rest !== '') return withLength(raw, Buffer.from(rest, 'latin1'))
      if (raw.method !== 'DELETE') return withLength(raw, noFields)
      forgetContent(raw)
      return nothing
    },
    expire: (bytes) => expired(raw, bytes, scope),
    proceed,
    abandon: () => scope.onAbandoned(raw),
  })
}

/**
 * A client that can send nothing but POST announces JSON and sends none: a DELETE without content has no type. Whether
 * there is content, a length tells, or the first of it.
 */
function forgetNoContent(raw: RawRequest, scope: OverrideScope, proceed: () => void): void {
  const length = lengthOf(raw)
  if (length === 0) forgetContent(raw)
  if (length !== null || raw.headers['content-type'] === undefined || !scope.isServed(raw)) {
    proceed()
    return
  }
  readAhead(raw, 0, scope.pending, {
    take({ bytes }) {
      if (bytes.length === 0) forgetContent(raw)
      return bytes
    },
    expire: (bytes) => expired(raw, bytes, scope),
    proceed,
    abandon: () => scope.onAbandoned(raw),
  })
}

function settle(
  raw: RawRequest,
  decision: OverrideDecision | null,
  byForm: boolean,
  { mode }: OverrideScope,
): void {
  if (decision === null) return
  const { method, refusal } = decision
  if (mode === 'report') {
    const rule = refusal === null ? 'performed' : 'refused'
    markRequest(raw, { kind: 'observed', rule, given: refusal?.message ?? `POST as ${method}` })
  } else if (refusal !== null) {
    markRequest(raw, { kind: 'refused', problem: refusal, unlessAbove: Number.POSITIVE_INFINITY })
  } else {
    markRequest(raw, { kind: 'performed', originalMethod: 'POST', byForm })
    raw.method = method
  }
}

function tooLarge(raw: RawRequest, { mode, bodyLimit, field }: OverrideScope): void {
  if (mode === 'report') {
    markRequest(raw, { kind: 'passed' })
    return
  }
  const detail = `The form is larger than ${bodyLimit} bytes: so much is searched for ${field}`
  const problem = new ProblemError('content-too-large', { detail })
  markRequest(raw, { kind: 'refused', problem, unlessAbove: bodyLimit })
}

/** Refuses a request whose body did not arrive in time; in `report` it goes on as it came. */
function expired(raw: RawRequest, bytes: Buffer, { mode }: OverrideScope): Buffer {
  if (mode === 'report') {
    markRequest(raw, { kind: 'passed' })
    return bytes
  }
  raw.method = 'POST'
  const problem = new ProblemError('request-timeout', { detail: 'The body did not arrive in time' })
  markRequest(raw, { kind: 'refused', problem, unlessAbove: Number.POSITIVE_INFINITY })
  return nothing
}

function headerOf({ headers }: RawRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'object' ? value.join(', ') : value
}

// What is coded is not searched: to decode it is the parser's part.
function isForm({ headers }: RawRequest): boolean {
  return mediaTypeOf(headers['content-type']) === formType && headers['content-encoding'] === undefined
}

function withLength({ headers }: RawRequest, body: Buffer): Buffer {
  if (headers['content-length'] !== undefined) headers['content-length'] = String(body.length)
  return body
}

// A form without fields to all parsers, and yet something to put back: without it the end of the body has passed.
const noFields = Buffer.from('&')
const nothing = Buffer.alloc(0)
