import { exactJson } from '../json/exact-json.js'
import { clip } from '../text.js'
import { IssueList } from './issue-list.js'
import type { ProblemIssue } from './problem-error.js'

/** What a schema validator says of one fault; Ajv's form, which other validators of Fastify follow. */
export interface SchemaFault {
  readonly instancePath?: unknown
  readonly keyword?: unknown
  readonly message?: unknown
  readonly params?: unknown
  /** The name that is wrong, of a fault that is found under `propertyNames`. */
  readonly propertyName?: unknown
}

const places = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const

/**
 * The faults of an input part (`body`, `querystring`, `params`, `headers`) as issues, in order, as many as an
 * {@link IssueList} takes. Faults beyond these are not looked at.
 */
export function validationIssues(
  faults: readonly unknown[],
  part: string | undefined,
): readonly ProblemIssue[] {
  const list = new IssueList()
  for (const given of faults) {
    if (list.isFull) break
    list.add(issueOf(faultOf(given), isPlace(part) ? places[part] : 'body'))
  }
  return list.issues
}

/**
 * The message that Fastify's own formatter gives to an error of validation, cut. Its own grows with the faults and with
 * the names in them, to many times the length of the body.
 */
export function validationMessage(faults: readonly unknown[], part: string): string {
  let text = ''
  for (const given of faults) {
    if (text.length > maxMessageLength) break
    text += `${text === '' ? '' : ', '}${wordsOf(given, part)}`
  }
  return clip(text, maxMessageLength)
}

/** Whether a message is Fastify's own, and not that of a formatter of the app. */
export function isDefaultMessage(
  message: string,
  faults: readonly unknown[],
  part: string | undefined,
): boolean {
  return (
    faults.length > 0 && message.startsWith(wordsOf(faults[0], part ?? '').slice(0, maxMessageLength - 1))
  )
}

const maxMessageLength = 1000

function wordsOf(given: unknown, part: string): string {
  const { instancePath, message } = faultOf(given)
  return `${part}${typeof instancePath === 'string' ? instancePath : ''} ${message}`
}

function issueOf(fault: SchemaFault, place: ProblemIssue['in']): ProblemIssue {
  const pointer = pointerOf(fault)
  const message = messageOf(fault)
  return place === 'body'
    ? { in: place, pointer, message }
    : { in: place, name: unescaped(pointer.split('/', 2)[1] ?? ''), message }
}

// Validators other than Ajv may say it in words, or in a form of their own.
function faultOf(given: unknown): SchemaFault {
  return typeof given === 'object' && given !== null ? given : { message: given }
}

function isPlace(part: string | undefined): part is keyof typeof places {
  return part !== undefined && Object.hasOwn(places, part)
}

// Ajv points at the object that lacks a member or has one too many; a client wants the member.
function pointerOf(fault: SchemaFault): string {
  const at = typeof fault.instancePath === 'string' ? fault.instancePath : ''
  const member = [fault.propertyName, ...memberParams.map((name) => param(fault, name))].find(isText)
  return member === undefined ? at : `${at}/${escaped(member)}`
}

const memberParams = ['missingProperty', 'additionalProperty', 'unevaluatedProperty', 'propertyName']

function messageOf(fault: SchemaFault): string {
  const message = typeof fault.message === 'string' ? fault.message : 'is invalid'
  if (fault.keyword === 'required') return 'is required'
  if (fault.keyword === 'additionalProperties' || fault.keyword === 'unevaluatedProperties')
    return 'is not known here'
  if (fault.keyword === 'const') return `must be ${shown(param(fault, 'allowedValue'))}`
  const allowed = fault.keyword === 'enum' ? param(fault, 'allowedValues') : undefined
  if (Array.isArray(allowed)) return `must be one of ${allowed.slice(0, maxAllowed).map(shown).join(', ')}`
  // A regular expression is for the developer of the server.
  const pattern = param(fault, 'pattern')
  return isText(pattern) && message.includes(pattern) ? 'must match the required pattern' : message
}

const maxAllowed = 20

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (exactJson(value, false) ?? 'another value')
}

function param(fault: SchemaFault, name: string): unknown {
  return typeof fault.params === 'object' && fault.params !== null
    ? (fault.params as Record<string, unknown>)[name]
    : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

// RFC 6901 §3.
function escaped(member: string): string {
  return member.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescaped(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
