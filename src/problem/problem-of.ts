import { foreignFields } from '../http/error-headers.js'
import { reasonPhrases, statusCode, statusTitle } from '../http/status.js'
import { isObject } from '../options.js'
import { clip } from '../text.js'
import { isDefaultMessage, textOfIssues, validationIssues } from './issues.js'
import {
  isErrorStatus,
  isProblemError,
  isText,
  kebabCode,
  longestDetail,
  type ProblemCode,
  ProblemError,
} from './problem-error.js'

const causes: ReadonlyMap<unknown, ProblemCode> = new Map(
  Object.entries({
    FST_ERR_NOT_FOUND: 'not-found',
    FST_ERR_BAD_URL: 'uri-malformed',
    FST_ERR_MAX_PARAM_LENGTH: 'uri-too-long',
    FST_ERR_CTP_BODY_TOO_LARGE: 'content-too-large',
    FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
    FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request-malformed',
    FST_ERR_CTP_EMPTY_JSON_BODY: 'body-malformed',
    FST_ERR_CTP_INVALID_JSON_BODY: 'body-malformed',
    FST_ERR_HANDLER_TIMEOUT: 'handler-timeout',
  } as const),
)

/** The `detail` of `uri-too-long`. */
export const segmentTooLong = 'A segment of the path is too long'

const details: Readonly<Partial<Record<ProblemCode, string>>> = {
  'uri-malformed': 'The path has a percent sign that does not begin an encoded UTF-8 character',
  'uri-too-long': segmentTooLong,
  'body-malformed': 'The body is not valid JSON in UTF-8, or has a key that is refused, such as __proto__',
  'content-too-large': 'The body is larger than this server accepts',
  'handler-timeout': 'The server did not finish in time; what was asked for may or may not have happened',
}

/** Returns the problem for a thrown value. */
export function problemOf(thrown: unknown, statusSoFar = 500): ProblemError {
  if (isProblemError(thrown)) return thrown
  const error: ThrownFields = isObject(thrown) ? thrown : {}
  // An error of response validation has `validation` too; it is a 5xx.
  const isInput = !isErrorStatus(error.statusCode) || error.statusCode < 500
  if (Array.isArray(error.validation) && isInput) return validationProblem(error, error.validation, thrown)

  const status = [error.statusCode, error.status, statusSoFar].find(isErrorStatus) ?? 500
  const cause = isJsonSyntaxError(thrown) ? 'body-malformed' : causes.get(error.code)
  const message = status < 500 && isText(error.message) ? clip(error.message, longestDetail) : undefined
  const ofStatus = status === 431 ? 'header-fields-too-large' : statusCode(status)
  // The codes of a 5xx, and those of system calls, are not for clients.
  const own = status < 500 && !('syscall' in error) ? ownCode(error.code) : null
  return new ProblemError(cause ?? own ?? ofStatus, {
    status,
    title: cause === undefined ? statusTitle(status) : undefined,
    detail: (cause && details[cause]) ?? message,
    headers: foreignFields(error.headers, status),
    cause: thrown,
  })
}

/**
 * Returns the problem of an error body that the app has sent: its text is the `detail`, its `code` the code, and of a 4xx
 * the other members are kept.
 *
 * @param problem that of the error, if it is known
 */
export function problemOfBody(
  status: number,
  body: unknown,
  problem: ProblemError = problemOf({ statusCode: status }),
  keepMembers: readonly string[] = [],
): ProblemError {
  if (status >= 500 || !isObject(body)) return problem
  const { message, detail, error, code, title, statusCode: _, ...members } = body
  const nested = isObject(error) ? error : {}
  const phrase = error === reasonPhrases[status] ? undefined : error
  const text = [detail, message, phrase, nested.message].find(isText)
  const words = text ?? (problem.message === problem.title ? undefined : problem.message)
  // The members that the problem does not have under another name.
  if (message !== text && message !== undefined) members.message = message
  if (phrase !== text && phrase !== undefined) members.error = phrase
  for (const name of keepMembers) if (body[name] !== undefined) members[name] = body[name]
  const { errors, headers, cause } = problem
  return new ProblemError(ownCode(code) ?? ownCode(nested.code) ?? problem.code, {
    status,
    title: isText(title) ? title : problem.title,
    detail: words,
    errors,
    headers,
    extensions: { ...problem.extensions, ...members },
    cause,
  })
}

/** Returns a code of the app in lower-kebab case; `null` for one of Fastify and its plugins. */
function ownCode(code: unknown): string | null {
  return typeof code === 'string' && !code.startsWith('FST_') ? kebabCode(code) : null
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

type ThrownFields = Readonly<Record<string, unknown>>

function validationProblem(error: ThrownFields, faults: readonly unknown[], cause: unknown): ProblemError {
  const part = isText(error.validationContext) ? error.validationContext : undefined
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
