import type { RequestFields } from '../../http/header-fields.js'
import { isCrossOrigin } from '../../http/url.js'
import { type ProblemCode, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { clip } from '../../text.js'

export const overrideHeader = 'X-HTTP-Method-Override'

/** The field in which a form names a method. Forms do not encode its characters. */
export const overrideField = '_method'

export interface OverrideRules {
  readonly methods: readonly string[]
  readonly formOrigins: readonly string[]
}

interface OverrideInput {
  /** Repeated lines are joined by commas (RFC 9110 §5.3). */
  readonly header: string | undefined
  readonly form: readonly string[]
  readonly fields: RequestFields
}

export type OverrideDecision =
  | { readonly method: string; readonly refusal: null }
  | { readonly method: null; readonly refusal: ProblemError }

/** Returns what a POST is performed as. Pages of other origins can set the header only after a preflight, but send forms. */
export function overrideDecision(
  { header, form, fields }: OverrideInput,
  { methods, formOrigins }: OverrideRules,
): OverrideDecision | null {
  if (header === undefined && form.length === 0) return null
  const expected = `is one of ${methods.join(', ')}, given once`
  const faults: ProblemIssue[] = []
  const fromHeader = header?.trim().toUpperCase()
  if (fromHeader !== undefined && !methods.includes(fromHeader)) {
    faults.push({ in: 'header', name: headerName, message: expected })
  }
  const [first, second] = form
  const fromForm = first?.toUpperCase()
  if (fromForm !== undefined && (second !== undefined || !methods.includes(fromForm))) {
    faults.push({ in: 'body', pointer: `/${overrideField}`, message: expected })
  }
  const given = [header, ...form].filter((word) => word !== undefined).map((word) => `'${word}'`)
  if (faults.length > 0) {
    const detail = `A POST cannot be performed as ${clip(given.join(' and '), maxShown)}`
    return refused(detail, faults)
  }
  if (fromHeader !== undefined && fromForm !== undefined && fromHeader !== fromForm) {
    const detail = `The header ${headerName} and the field ${overrideField} of the form disagree: ${given.join(' and ')}`
    return refused(detail, [{ in: 'header', name: headerName, message: `is ${fromForm}, as in the form` }])
  }
  if (fromHeader === undefined && isCrossOrigin(fields, formOrigins)) {
    const { origin } = fields
    const from = origin === undefined ? 'another origin' : `the origin ${clip(String(origin), maxShown)}`
    const message = 'is from a page of this service, or of an origin that it names'
    const detail = `A form from ${from} cannot be performed as ${fromForm}`
    return refused(detail, [{ in: 'body', pointer: `/${overrideField}`, message }])
  }
  return { method: fromHeader ?? fromForm ?? '', refusal: null }
}

const code: ProblemCode = 'method-override-invalid'
const maxShown = 80
// As findings of a request name header fields.
const headerName = overrideHeader.toLowerCase()

function refused(detail: string, errors: readonly ProblemIssue[]): OverrideDecision {
  return { method: null, refusal: new ProblemError(code, { detail, errors }) }
}

/** The media type of the forms that browsers send without a script. */
export const formType = 'application/x-www-form-urlencoded'

/** Splits a form into the values of a field and the rest. With texts in Latin-1, the bytes of the rest do not change. */
export function takeField(form: string, name: string): { values: readonly string[]; rest: string } {
  if (!form.includes(name) && !form.includes('%')) return { values: [], rest: form }
  const values: string[] = []
  const kept: string[] = []
  for (const pair of form.split('&')) {
    const equals = pair.indexOf('=')
    const key = equals === -1 ? pair : pair.slice(0, equals)
    if (decoded(key) === name) values.push(equals === -1 ? '' : decoded(pair.slice(equals + 1)))
    else kept.push(pair)
  }
  return { values, rest: kept.join('&') }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
