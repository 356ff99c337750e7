import type { RequestFields } from '../../http/field-name.js'
import { pointerToken } from '../../json/json-pointer.js'
import { type ProblemCode, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { clip } from '../../text.js'
import { isFromElsewhere } from './is-from-elsewhere.js'

/** What a POST may be performed as, and where it says so. */
export interface OverrideRules {
  /** In uppercase. */
  readonly methods: readonly string[]
  /** Name of the header. */
  readonly header: string
  /** Name of the form's field. */
  readonly field: string
  /** Origins whose pages may name a method in a form, besides that of the service. */
  readonly formOrigins: readonly string[]
}

/** What a POST says of the method that it stands for. */
export interface OverrideWords {
  /** The value of the header; repeated lines are joined by commas (RFC 9110 §5.3). */
  readonly header: string | undefined
  /** Each value of the form's field. */
  readonly form: readonly string[]
  /** The header fields of the request: they tell where the form is from. */
  readonly source: RequestFields
}

/** The method that a POST is performed as, or why it is refused. */
export type OverrideDecision =
  | { readonly method: string; readonly refusal: null }
  | { readonly method: null; readonly refusal: ProblemError }

/**
 * Decides what a POST is performed as: header and form name one of the methods, in any case, each once;
 * where both are there, they agree. `null` where it is a POST and nothing else.
 *
 * A form alone has to be from here. With the header it need not: that one takes a preflight from elsewhere.
 */
export function overrideDecision(
  { header, form, source }: OverrideWords,
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
  const said = [header, ...form].filter((word) => word !== undefined).map((word) => `'${word}'`)
  if (faults.length > 0) {
    const detail = `A POST cannot be performed as ${clip(said.join(' and '), longestShown)}`
    return refused(detail, faults)
  }
  if (fromHeader !== undefined && fromForm !== undefined && fromHeader !== fromForm) {
    const detail = `The header ${headerName} and the field ${field} of the form disagree: ${said.join(' and ')}`
    return refused(detail, [{ in: 'header', name: headerName, message: `is ${fromForm}, as in the form` }])
  }
  if (fromHeader === undefined && isFromElsewhere(source, formOrigins)) {
    const { origin } = source
    const from = origin === undefined ? 'another origin' : `the origin ${clip(String(origin), longestShown)}`
    const message = 'is from a page of this service, or of an origin that it names'
    const detail = `A form from ${from} cannot be performed as ${fromForm}`
    return refused(detail, [{ in: 'body', pointer: pointerTo(field), message }])
  }
  return { method: fromHeader ?? fromForm ?? '', refusal: null }
}

const code: ProblemCode = 'method-override-invalid'
const longestShown = 80

function refused(detail: string, errors: readonly ProblemIssue[]): OverrideDecision {
  return { method: null, refusal: new ProblemError(code, { detail, errors }) }
}

function pointerTo(name: string): string {
  return `/${pointerToken(name)}`
}
