import { unescape as decoded } from 'node:querystring'
import { forgetContent, lengthOf, markRequest, type RawRequest } from '../../convention/exchange.js'
import type { RequestFields } from '../../http/header-fields.js'
import { formType, mediaTypeOf } from '../../http/media-types.js'
import { isCrossOrigin, pathOf } from '../../http/url.js'
import { type ProblemCode, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import type { Mode } from '../../report/modes.js'
import { clip } from '../../text.js'
import { type PendingBodies, readAhead } from './read-ahead.js'

export const overrideHeader = 'X-HTTP-Method-Override'

// Forms do not encode its characters.
const overrideField = '_method'

/** A registration of the plugin: it serves the paths below its prefix. */
export interface OverrideScope {
  readonly methods: readonly string[]
  readonly formOrigins: readonly string[]
  readonly prefix: string
  readonly form: boolean
  readonly mode: Mode
  /** Maximum of the bytes that are read of a form before its request is routed. */
  readonly bodyLimit: number
  readonly pending: PendingBodies
  hasRoute(raw: RawRequest): boolean
  isPassedOn(raw: RawRequest): boolean
  onAbandoned(raw: RawRequest): void
}

/** Returns the scope of a path: the one with the longest prefix, of equals the first. */
export function scopeOf(scopes: readonly OverrideScope[], url: string): OverrideScope | undefined {
  const [first] = scopes
  if (first?.prefix === '') return first
  const segments = pathOf(url).split('/')
  return scopes.find(({ prefix }) =>
    prefix
      .replace(/\/$/, '')
      .split('/')
      .every((expected, index) =>
        expected.includes(':') ? segments[index] !== undefined : segments[index] === expected,
      ),
  )
}

/** Applies the override of a POST before it is routed. A refused request stays a POST, and a hook refuses it. */
export function overridePost(raw: RawRequest, scope: OverrideScope, proceed: () => void): void {
  const isReport = scope.mode === 'report'
  const header = raw.headers[headerName]?.toString()
  const mayHaveField = scope.form && isForm(raw) && lengthOf(raw) !== 0
  if ((header === undefined && !mayHaveField) || scope.isPassedOn(raw)) proceed()
  else if (mayHaveField && scope.hasRoute(raw)) readBody(scope.bodyLimit, searchForm)
  else {
    applyOverride(null)
    if (raw.method === 'DELETE') forgetEmptyContent()
    else proceed()
  }

  function searchForm(bytes: Buffer, isWhole: boolean): Buffer {
    const { bodyLimit } = scope
    if (!isWhole) {
      const detail = `The form is larger than ${bodyLimit} bytes, the limit of the search for ${overrideField}`
      refuseBody('content-too-large', detail, bodyLimit)
      return bytes
    }
    const { values, rest } = takeField(bytes.toString('latin1'), overrideField)
    applyOverride(values)
    if (raw.method === 'POST') return bytes.length > 0 ? bytes : noFields
    if (rest !== '') return withLength(raw, Buffer.from(rest, 'latin1'))
    if (raw.method !== 'DELETE') return withLength(raw, noFields)
    forgetContent(raw)
    return nothing
  }

  /** Removes the content type of a DELETE without content: clients that can send only POST announce JSON and send none. */
  function forgetEmptyContent(): void {
    const length = lengthOf(raw)
    if (length === 0) forgetContent(raw)
    if (length !== null || raw.headers['content-type'] === undefined || !scope.hasRoute(raw)) proceed()
    else {
      readBody(0, (bytes) => {
        if (bytes.length === 0) forgetContent(raw)
        return bytes
      })
    }
  }

  function readBody(limit: number, take: (bytes: Buffer, isWhole: boolean) => Buffer): void {
    readAhead(raw, limit, scope.pending, {
      take(bytes, outcome) {
        if (outcome !== 'late') return take(bytes, outcome === 'whole')
        if (!isReport) raw.method = 'POST'
        refuseBody('request-timeout', 'The body did not arrive in time')
        return isReport ? bytes : nothing
      },
      proceed,
      abandon: () => scope.onAbandoned(raw),
    })
  }

  /** In `report` mode, the request is not changed. */
  function refuseBody(code: ProblemCode, detail: string, unlessAbove?: number): void {
    // The client may still be sending. HTTP/2 can end the stream instead.
    const headers = raw.httpVersionMajor < 2 ? { connection: 'close' } : {}
    const problem = new ProblemError(code, { detail, headers })
    markRequest(raw, isReport ? { kind: 'passed' } : { kind: 'refused', problem, unlessAbove })
  }

  function applyOverride(form: readonly string[] | null): void {
    const decided = overrideOf(header, form ?? [], raw.headers, scope)
    if (decided === null) return
    if (typeof decided !== 'string') markRequest(raw, { kind: 'refused', problem: decided })
    else if (isReport) markRequest(raw, { kind: 'observed', given: `POST as ${decided}` })
    else {
      markRequest(raw, { kind: 'performed', byForm: form !== null })
      raw.method = decided
    }
  }
}

// As findings of a request name header fields.
const headerName = overrideHeader.toLowerCase()
const maxShown = 80

/**
 * Returns the method that a POST is performed as, a refusal, or `null` for none. Pages of other origins can set the header
 * only after a preflight, but send forms.
 */
function overrideOf(
  header: string | undefined,
  form: readonly string[],
  fields: RequestFields,
  { methods, formOrigins }: Pick<OverrideScope, 'methods' | 'formOrigins'>,
): string | ProblemError | null {
  const inForm = { in: 'body', pointer: `/${overrideField}` } as const
  const inHeader = { in: 'header', name: headerName } as const
  const words = [...(header === undefined ? [] : [header.trim()]), ...form].map((word) => word.toUpperCase())
  const [named] = words
  if (named === undefined) return null
  const isInvalid = (word: string) => !methods.includes(word)
  const message = `is one of ${methods.join(', ')}, given once`
  const faults: ProblemIssue[] = []
  if (header !== undefined && isInvalid(named)) faults.push({ ...inHeader, message })
  if (form.length > 1 || form.some((word) => isInvalid(word.toUpperCase())))
    faults.push({ ...inForm, message })
  if (faults.length === 0 && words.some((word) => word !== named))
    faults.push({ ...inHeader, message: `is ${words.at(-1)}, as in the form` })
  if (faults.length > 0) {
    const given = [header, ...form].filter((word) => word !== undefined).map((word) => `'${word}'`)
    return refused(`A POST cannot be performed as ${clip(given.join(' and '), maxShown)}`, faults)
  }
  if (header === undefined && isCrossOrigin(fields, formOrigins)) {
    const { origin } = fields
    const from = origin === undefined ? 'another origin' : `the origin ${clip(String(origin), maxShown)}`
    const fault = { ...inForm, message: 'is from a page of this service, or of an origin that it names' }
    return refused(`A form from ${from} cannot be performed as ${named}`, [fault])
  }
  return named
}

function refused(detail: string, errors: readonly ProblemIssue[]): ProblemError {
  return new ProblemError('method-override-invalid', { detail, errors })
}

/** Splits a form into the values of a field and the rest. With texts in Latin-1, the bytes of the rest do not change. */
export function takeField(form: string, name: string): { values: readonly string[]; rest: string } {
  if (!form.includes(name) && !form.includes('%')) return { values: [], rest: form }
  const values: string[] = []
  const kept: string[] = []
  for (const pair of form.split('&')) {
    const equals = pair.indexOf('=')
    const key = equals === -1 ? pair : pair.slice(0, equals)
    if (decoded(key) === name)
      values.push(equals === -1 ? '' : decoded(pair.slice(equals + 1).replaceAll('+', ' ')))
    else kept.push(pair)
  }
  return { values, rest: kept.join('&') }
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
