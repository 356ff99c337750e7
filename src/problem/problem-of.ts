import { foreignFields } from '../http/error-headers.js'
import { reasonPhrases, statusCode, statusTitle } from '../http/status.js'
import { isObject } from '../options.js'
import { clip } from '../text.js'
import { textOfIssues } from './issue-list.js'
import { longestDetail } from './problem-document.js'
import {
  isErrorStatus,
  isProblemError,
  isText,
  kebabCode,
  type ProblemCode,
  ProblemError,
  problemTypes,
} from './problem-error.js'
import { isDefaultMessage, validationIssues } from './validation-issues.js'

export { longestDetail } from './problem-document.js'

const causes: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_NOT_FOUND: 'not-found',
  FST_ERR_BAD_URL: 'uri-malformed',
  FST_ERR_MAX_PARAM_LENGTH: 'uri-too-long',
  FST_ERR_CTP_BODY_TOO_LARGE: 'content-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request-malformed',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'body-malformed',
  FST_ERR_CTP_INVALID_JSON_BODY: 'body-malformed',
  FST_ERR_HANDLER_TIMEOUT: 'handler-timeout',
}

// The codes of errors without a code of Fastify, by status.
const byStatus: Readonly<Record<number, ProblemCode>> = Object.fromEntries(
  (
    [
      'not-found',
      'method-not-allowed',
      'not-acceptable',
      'request-timeout',
      'content-too-large',
      'uri-too-long',
      'unsupported-media-type',
      'expectation-failed',
      'header-fields-too-large',
      'internal-server-error',
    ] as const
  ).map((code) => [problemTypes[code].status, code]),
)

/** The `detail` of `uri-too-long`. */
export const segmentTooLong = 'A segment of the path is too long'

const details: Readonly<Partial<Record<ProblemCode, string>>> = {
  'uri-malformed': 'The path has a percent sign that does not begin an encoded UTF-8 character',
  'uri-too-long': segmentTooLong,
  'body-malformed': 'The body is not valid JSON, or has a key that is refused, such as __proto__',
  'content-too-large': 'The body is larger than this server accepts',
  'handler-timeout': 'The server did not finish in time; what was asked for may or may not have happened',
}

/** Returns the problem for a thrown value. */
export function problemOf(thrown: unknown, statusSoFar = 500): ProblemError {
  if (isProblemError(thrown)) return thrown
  const error: ThrownFields = isObject(thrown) ? thrown : {}
  // An error of response validation has `validation` too; it is a 5xx.
  const isInput = !isErrorStatus(error.statusCode) || error.statusCode < 500
  if (Array.isArray(error.validation) && isInput) return validationProblem(error, thrown)

  const status = [error.statusCode, error.status, statusSoFar].find(isErrorStatus) ?? 500
  const headers = foreignFields(error.headers, status)
  const code = isJsonSyntaxError(thrown) ? 'body-malformed' : causeOf(error)
  const ours = code ?? byStatus[status]
  const detail = code === undefined ? undefined : details[code]
  return new ProblemError(ours ?? statusCode(status), {
    status,
    title: ours === undefined ? statusTitle(status) : problemTypes[ours].title,
    ...(detail !== undefined
      ? { detail }
      : status < 500 && isText(error.message)
        ? { detail: clip(error.message, longestDetail) }
        : {}),
    ...(headers === undefined ? {} : { headers }),
    cause: thrown,
  })
}

export function problemOfBody(
  status: number,
  body: unknown,
  problem: ProblemError = problemOf({ statusCode: status }),
  keepMembers: readonly string[] = [],
): ProblemError {
  if (status >= 500 || !isObject(body)) return problem
  const { message, detail, code, title, statusCode: _, ...members } = body
  if (members.error === reasonPhrases[status]) delete members.error
  const nested = isObject(members.error) ? members.error : {}
  const text = [detail, message, members.error, nested.message].find(isText)
  const words = text ?? (problem.message === problem.title ? undefined : problem.message)
  if (text !== undefined && members.error === text && !keepMembers.includes('error')) delete members.error
  if (message !== undefined && message !== text) members.message = message
  const ownCode = [code, nested.code].find((one) => typeof one === 'string' && !one.startsWith('FST_'))
  return new ProblemError(kebabCode(ownCode) ?? problem.code, {
    status,
    title: isText(title) ? title : problem.title,
    ...(words === undefined ? {} : { detail: words }),
    ...(problem.errors !== undefined && { errors: problem.errors }),
    ...(problem.headers !== undefined && { headers: problem.headers }),
    extensions: { ...problem.extensions, ...members },
    cause: problem.cause,
  })
}

/** Whether the JSON parser of an older Fastify 5 has thrown: its errors have no code. */
export function isJsonSyntaxError(thrown: unknown): boolean {
  return (
    thrown instanceof SyntaxError &&
    !('code' in thrown) &&
    'statusCode' in thrown &&
    thrown.statusCode === 400
  )
}

function causeOf({ code }: ThrownFields): ProblemCode | undefined {
  return typeof code === 'string' && Object.hasOwn(causes, code) ? causes[code] : undefined
}

interface ThrownFields {
  readonly code?: unknown
  readonly statusCode?: unknown
  readonly status?: unknown
  readonly message?: unknown
  readonly headers?: unknown
  readonly validation?: unknown
  readonly validationContext?: unknown
}

function validationProblem(error: ThrownFields, cause: unknown): ProblemError {
  const part = typeof error.validationContext === 'string' ? error.validationContext : undefined
  const faults = error.validation as unknown[]
  const errors = validationIssues(faults, part)
  const isWorded = isText(error.message) && !isDefaultMessage(error.message, faults, part)
  const detail = isWorded ? String(error.message) : textOfIssues(errors)
  return new ProblemError('validation', {
    status: isErrorStatus(error.statusCode) ? error.statusCode : 400,
    detail: clip(detail || 'The input is not valid', longestDetail),
    errors,
    cause,
  })
}
