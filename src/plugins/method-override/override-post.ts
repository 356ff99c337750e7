import { forgetContent, lengthOf, markRequest, type RawRequest } from '../../convention/raw-request.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { pathOf } from '../../http/url.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { Mode } from '../../report/modes.js'
import {
  formType,
  type OverrideDecision,
  type OverrideRules,
  overrideDecision,
  overrideField,
  overrideHeader,
  takeField,
} from './override-decision.js'
import { type PendingBodies, readAhead } from './read-ahead.js'

export interface OverrideScope extends OverrideRules {
  readonly prefix: string
  readonly form: boolean
  readonly mode: Mode
  /** Maximum of the bytes that are read of a form before its request is routed. */
  readonly bodyLimit: number
  readonly pending: PendingBodies
  hasRoute(raw: RawRequest): boolean
  isPassedOn(raw: RawRequest): boolean
  /** Called if the client aborts the request while its form is read. */
  onAbandoned(raw: RawRequest): void
}

/** Returns the scope of a path: the one with the longest prefix, of equals the first. */
export function scopeOf(scopes: readonly OverrideScope[], url: string): OverrideScope | undefined {
  const [first] = scopes
  if (first?.prefix === '') return first
  const path = pathOf(url)
  return scopes.find(({ prefix }) => isBelow(path, prefix))
}

/** Sorts scopes by the depth of their prefix, the deepest first. */
export function sortScopes(scopes: OverrideScope[]): void {
  const depthOf = ({ prefix }: OverrideScope): number => prefix.split('/').length
  scopes.sort((one, other) => depthOf(other) - depthOf(one))
}

/** Whether a path is at or below a prefix, in which a segment with a parameter matches any segment. */
function isBelow(path: string, prefix: string): boolean {
  const segments = path.split('/')
  const expected = prefix.replace(/\/$/, '').split('/')
  return expected.every((segment, index) =>
    segment.includes(':') ? segments[index] !== undefined : segments[index] === segment,
  )
}

/** Applies the override of a POST before it is routed. A refused request stays a POST, and a hook refuses it. */
export function overridePost(raw: RawRequest, scope: OverrideScope, proceed: () => void): void {
  const header = headerOf(raw)
  const mayHaveField = scope.form && isForm(raw) && lengthOf(raw) !== 0
  if ((mayHaveField || header !== undefined) && scope.isPassedOn(raw)) proceed()
  else if (mayHaveField && scope.hasRoute(raw)) readForm(raw, header, scope, proceed)
  else if (header === undefined) proceed()
  else {
    applyDecision(raw, overrideDecision({ header, form: [], fields: raw.headers }, scope), false, scope)
    if (raw.method === 'DELETE') forgetEmptyContent(raw, scope, proceed)
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
        refuseTooLarge(raw, scope)
        return bytes
      }
      const { values, rest } = takeField(bytes.toString('latin1'), overrideField)
      const decision = overrideDecision({ header, form: values, fields: raw.headers }, scope)
      applyDecision(raw, decision, true, scope)
      if (raw.method === 'POST') return bytes.length > 0 ? bytes : noFields
      if (rest !== '') return withLength(raw, Buffer.from(rest, 'latin1'))
      if (raw.method !== 'DELETE') return withLength(raw, noFields)
      forgetContent(raw)
      return nothing
    },
    expire: (bytes) => refuseLate(raw, bytes, scope),
    proceed,
    abandon: () => scope.onAbandoned(raw),
  })
}

/** Removes the content type of a DELETE without content: clients that can send only POST announce JSON and send none. */
function forgetEmptyContent(raw: RawRequest, scope: OverrideScope, proceed: () => void): void {
  const length = lengthOf(raw)
  if (length === 0) forgetContent(raw)
  if (length !== null || raw.headers['content-type'] === undefined || !scope.hasRoute(raw)) {
    proceed()
    return
  }
  readAhead(raw, 0, scope.pending, {
    take({ bytes }) {
      if (bytes.length === 0) forgetContent(raw)
      return bytes
    },
    expire: (bytes) => refuseLate(raw, bytes, scope),
    proceed,
    abandon: () => scope.onAbandoned(raw),
  })
}

function applyDecision(
  raw: RawRequest,
  decision: OverrideDecision | null,
  byForm: boolean,
  { mode }: OverrideScope,
): void {
  if (decision === null) return
  const { method, refusal } = decision
  if (refusal !== null) {
    markRequest(raw, { kind: 'refused', problem: refusal, unlessAbove: Number.POSITIVE_INFINITY })
  } else if (mode === 'report') markRequest(raw, { kind: 'observed', given: `POST as ${method}` })
  else {
    markRequest(raw, { kind: 'performed', originalMethod: 'POST', byForm })
    raw.method = method
  }
}

function refuseTooLarge(raw: RawRequest, { mode, bodyLimit }: OverrideScope): void {
  if (mode === 'report') {
    markRequest(raw, { kind: 'passed' })
    return
  }
  const detail = `The form is larger than ${bodyLimit} bytes, the limit of the search for ${overrideField}`
  const problem = new ProblemError('content-too-large', { detail, headers: lastOf(raw) })
  markRequest(raw, { kind: 'refused', problem, unlessAbove: bodyLimit })
}

/** Refuses a request whose body did not arrive in time. In `report` mode it is not changed. */
function refuseLate(raw: RawRequest, bytes: Buffer, { mode }: OverrideScope): Buffer {
  if (mode === 'report') {
    markRequest(raw, { kind: 'passed' })
    return bytes
  }
  raw.method = 'POST'
  const detail = 'The body did not arrive in time'
  const problem = new ProblemError('request-timeout', { detail, headers: lastOf(raw) })
  markRequest(raw, { kind: 'refused', problem, unlessAbove: Number.POSITIVE_INFINITY })
  return nothing
}

// The client may still be sending. HTTP/2 can end the stream instead.
function lastOf({ httpVersionMajor }: RawRequest): Readonly<Record<string, string>> {
  return httpVersionMajor < 2 ? { connection: 'close' } : {}
}

function headerOf({ headers }: RawRequest): string | undefined {
  const value = headers[overrideHeader.toLowerCase()]
  return typeof value === 'object' ? value.join(', ') : value
}

// A form with a content coding is not searched: only a parser can decode it.
function isForm({ headers }: RawRequest): boolean {
  return mediaTypeOf(headers['content-type']) === formType && headers['content-encoding'] === undefined
}

function withLength({ headers }: RawRequest, body: Buffer): Buffer {
  if (headers['content-length'] !== undefined) headers['content-length'] = String(body.length)
  return body
}

// A form without fields for every parser. Something has to be put back, or the end of the body has passed.
const noFields = Buffer.from('&')
const nothing = Buffer.alloc(0)
