import { isCrossOrigin } from '../../http/cross-origin.js'
import type { RequestFields } from '../../http/field-name.js'
import { pointerToken } from '../../json/json-pointer.js'
import { type ProblemCode, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { clip } from '../../text.js'

/** The methods that a POST may be performed as, and where it names one. */
export interface OverrideRules {
  /** In uppercase. */
  readonly methods: readonly string[]
  /** Name of the header, in lowercase. */
  readonly header: string
  /** Name of the form field. */
  readonly field: string
  /** Origins whose pages may name a method in a form, besides that of the service. */
  readonly formOrigins: readonly string[]
}

/** The parts of a POST that can name a method. */
export interface OverrideInput {
  /** The value of the header; repeated lines are joined by commas (RFC 9110 §5.3). */
  readonly header: string | undefined
  /** Each value of the form field. */
  readonly form: readonly string[]
  /** The header fields of the request, which show the origin of the form. */
  readonly fields: RequestFields
}

/** The method that a POST is performed as, or why it is refused. */
export type OverrideDecision =
  | { readonly method: string; readonly refusal: null }
  | { readonly method: null; readonly refusal: ProblemError }

/**
 * Returns the method that a POST is performed as, or its refusal; `null` if it names no method. Header and form name one
 * of the methods, in any case and each once; if both do, they agree.
 *
 * A form without the header has to be from the same origin. With the header it need not be: pages of other origins can
 * set the header only after a preflight.
 */
export function overrideDecision(
  { header, form, fields }: OverrideInput,
  { methods, header: headerName, field, formOrigins }: OverrideRules,
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
    faults.push({ in: 'body', pointer: pointerTo(field), message: expected })
  }
  const given = [header, ...form].filter((word) => word !== undefined).map((word) => `'${word}'`)
  if (faults.length > 0) {
    const detail = `A POST cannot be performed as ${clip(given.join(' and '), maxShown)}`
    return refused(detail, faults)
  }
  if (fromHeader !== undefined && fromForm !== undefined && fromHeader !== fromForm) {
    const detail = `The header ${headerName} and the field ${field} of the form disagree: ${given.join(' and ')}`
    return refused(detail, [{ in: 'header', name: headerName, message: `is ${fromForm}, as in the form` }])
  }
  if (fromHeader === undefined && isCrossOrigin(fields, formOrigins)) {
    const { origin } = fields
    const from = origin === undefined ? 'another origin' : `the origin ${clip(String(origin), maxShown)}`
    const message = 'is from a page of this service, or of an origin that it names'
    const detail = `A form from ${from} cannot be performed as ${fromForm}`
    return refused(detail, [{ in: 'body', pointer: pointerTo(field), message }])
  }
  return { method: fromHeader ?? fromForm ?? '', refusal: null }
}

const code: ProblemCode = 'method-override-invalid'
const maxShown = 80

function refused(detail: string, errors: readonly ProblemIssue[]): OverrideDecision {
  return { method: null, refusal: new ProblemError(code, { detail, errors }) }
}

function pointerTo(name: string): string {
  return `/${pointerToken(name)}`
}
