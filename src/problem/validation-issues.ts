import { exactJson } from '../json/exact-json.js'
import { nameOfToken, pointerToken } from '../json/json-pointer.js'
import { isObject } from '../options.js'
import { clip } from '../text.js'
import { IssueList } from './issue-list.js'
import { isString, type ProblemIssue } from './problem-error.js'

export interface SchemaFault {
  readonly instancePath?: unknown
  readonly keyword?: unknown
  readonly message?: unknown
  readonly params?: unknown
  /** The invalid name, for an error under `propertyNames`. */
  readonly propertyName?: unknown
}

const places = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const

/** @param part `body`, `querystring`, `params` or `headers` */
export function validationIssues(
  faults: readonly unknown[],
  part: string | undefined,
): readonly ProblemIssue[] {
  const list = new IssueList()
  for (const given of faults) {
    for (const fault of faultsOf(faultOf(given))) {
      if (list.isFull) return list.issues
      list.add(issueOf(fault, isPlace(part) ? places[part] : 'body'))
    }
  }
  return list.issues
}

/** One error for each member that an error of TypeBox names. Its error of `false` repeats the one for an additional member. */
function faultsOf(fault: SchemaFault): readonly SchemaFault[] {
  if (fault.keyword === 'boolean') return []
  const names = listParams.map((name) => param(fault, name)).find(Array.isArray)
  return names === undefined
    ? [fault]
    : names.filter(isString).map((missingProperty) => ({ ...fault, params: { missingProperty } }))
}

const listParams = ['requiredProperties', 'additionalProperties', 'unevaluatedProperties']

export function validationMessage(faults: readonly unknown[], part: string): string {
  let text = ''
  for (const given of faults) {
    if (text.length > maxMessageLength) break
    text += `${text === '' ? '' : ', '}${textOf(given, part)}`
  }
  return clip(text, maxMessageLength)
}

export function isDefaultMessage(
  message: string,
  faults: readonly unknown[],
  part: string | undefined,
): boolean {
  return faults.length > 0 && message.startsWith(textOf(faults[0], part ?? '').slice(0, maxMessageLength - 1))
}

const maxMessageLength = 1000

function textOf(given: unknown, part: string): string {
  const { instancePath, message } = faultOf(given)
  return `${part}${typeof instancePath === 'string' ? instancePath : ''} ${message}`
}

function issueOf(fault: SchemaFault, place: ProblemIssue['in']): ProblemIssue {
  const pointer = pointerOf(fault)
  const message = messageOf(fault)
  return place === 'body'
    ? { in: place, pointer, message }
    : { in: place, name: nameOfToken(pointer.split('/', 2)[1] ?? ''), message }
}

// Other validators may have texts, or a form of their own.
function faultOf(given: unknown): SchemaFault {
  return isObject(given) ? given : { message: given }
}

function isPlace(part: string | undefined): part is keyof typeof places {
  return part !== undefined && Object.hasOwn(places, part)
}

// For a missing or additional member, Ajv points at its object.
function pointerOf(fault: SchemaFault): string {
  const at = typeof fault.instancePath === 'string' ? fault.instancePath : ''
  const member = [fault.propertyName, ...memberParams.map((name) => param(fault, name))].find(isString)
  return member === undefined ? at : `${at}/${pointerToken(member)}`
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
  // Regular expressions are not for clients.
  const pattern = param(fault, 'pattern')
  return isString(pattern) && message.includes(pattern) ? 'must match the required pattern' : message
}

const maxAllowed = 20

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (exactJson(value, false) ?? 'another value')
}

function param(fault: SchemaFault, name: string): unknown {
  return isObject(fault.params) ? fault.params[name] : undefined
}
