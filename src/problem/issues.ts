import { exactJson } from '../json/exact-json.js'
import { nameOfToken, pointerToken } from '../json/json-text.js'
import { isObject } from '../options.js'
import { clip } from '../text.js'

/** One fault in the input. */
export type ProblemIssue =
  | {
      readonly in: 'body'
      /** JSON Pointer (RFC 6901) into the request body; `''` is the whole body. */
      readonly pointer: string
      readonly message: string
    }
  | {
      readonly in: 'query' | 'path' | 'header'
      /** Name of the parameter or header field. */
      readonly name: string
      readonly message: string
    }

const maxIssues = 50
// Of all issues together, before their texts are cut: names in a body can be as long as the body.
const maxCharacters = 10_000
const maxTextLength = 300

/** Collects the issues of a problem, at most 50 and about 10,000 characters. */
export class IssueList {
  readonly issues: ProblemIssue[] = []
  #left = maxCharacters

  get isFull(): boolean {
    return this.issues.length >= maxIssues || this.#left <= 0
  }

  add(issue: ProblemIssue): void {
    if (this.isFull || !isObject(issue)) return
    const entries = Object.entries(issue).flatMap(([name, value]: [string, unknown]) => {
      if (typeof value !== 'string') return []
      this.#left -= value.length
      return [[name, clip(value, maxTextLength)]]
    })
    this.issues.push(Object.fromEntries(entries) as ProblemIssue)
  }
}

export function boundedIssues(issues: readonly ProblemIssue[]): readonly ProblemIssue[] {
  const list = new IssueList()
  for (const issue of issues) {
    if (list.isFull) break
    list.add(issue)
  }
  return list.issues
}

/** Returns the issues as one text: `body/name is required, query/limit must be integer`. */
export function textOfIssues(issues: readonly ProblemIssue[]): string {
  return issues
    .map((issue) => `${issue.in}${issue.in === 'body' ? issue.pointer : `/${issue.name}`} ${issue.message}`)
    .join(', ')
}

/** A fault as a validator describes it. Those of Ajv have all of these members. */
interface SchemaFault {
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
  const place =
    part !== undefined && Object.hasOwn(places, part) ? places[part as keyof typeof places] : 'body'
  const list = new IssueList()
  for (const given of faults) {
    for (const fault of faultsOf(faultOf(given))) {
      if (list.isFull) return list.issues
      list.add(issueOf(fault, place))
    }
  }
  return list.issues
}

/** Whether a message is the one that Fastify makes of these faults. */
export function isDefaultMessage(message: string, [first]: readonly unknown[], part = ''): boolean {
  const { instancePath, message: text } = faultOf(first)
  return message.startsWith(`${part}${typeof instancePath === 'string' ? instancePath : ''} ${text}`)
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

// For a missing or additional member, Ajv points at its object.
function pointerOf(fault: SchemaFault): string {
  const at = typeof fault.instancePath === 'string' ? fault.instancePath : ''
  const member = [fault.propertyName, ...memberParams.map((name) => param(fault, name))].find(isString)
  return member === undefined ? at : `${at}/${pointerToken(member)}`
}

const memberParams = ['missingProperty', 'additionalProperty', 'unevaluatedProperty', 'propertyName']

function messageOf(fault: SchemaFault): string {
  const message = isString(fault.message) ? fault.message : 'is invalid'
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
  return isString(value) ? value : (exactJson(value, false) ?? 'another value')
}

function param(fault: SchemaFault, name: string): unknown {
  return isObject(fault.params) ? fault.params[name] : undefined
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}
