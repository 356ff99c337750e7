import { exactJson } from '../json/exact-json.js'
import { isObject } from '../options.js'
import { nameOfToken, pointerToken } from '../schema/json-schema.js'
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

export function boundedIssues(issues: Iterable<ProblemIssue>): readonly ProblemIssue[] {
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

const places: ReadonlyMap<unknown, 'query' | 'path' | 'header'> = new Map([
  ['querystring', 'query'],
  ['params', 'path'],
  ['headers', 'header'],
] as const)

/** @param part `body`, `querystring`, `params` or `headers` */
export function validationIssues(faults: readonly unknown[], part: unknown): readonly ProblemIssue[] {
  return boundedIssues(issuesOf(faults, places.get(part) ?? 'body'))
}

/** Whether a message is the one that Fastify makes of these faults. */
export function isDefaultMessage(message: string, [first]: readonly unknown[], part = ''): boolean {
  const { instancePath, message: text } = faultOf(first)
  return message.startsWith(`${part}${isString(instancePath) ? instancePath : ''} ${text}`)
}

function* issuesOf(faults: readonly unknown[], place: ProblemIssue['in']): Generator<ProblemIssue> {
  for (const fault of faults.map(faultOf)) {
    // TypeBox repeats the error for an additional member as one of the schema `false`.
    if (fault.keyword === 'boolean') continue
    const params = isObject(fault.params) ? fault.params : {}
    const at = isString(fault.instancePath) ? fault.instancePath : ''
    const message = messageOf(fault, params)
    for (const member of membersOf(fault, params)) {
      const pointer = member === undefined ? at : `${at}/${pointerToken(member)}`
      yield place === 'body'
        ? { in: place, pointer, message }
        : { in: place, name: nameOfToken(pointer.split('/', 2)[1] ?? ''), message }
    }
  }
}

// Other validators may have texts, or a form of their own.
function faultOf(given: unknown): SchemaFault {
  return isObject(given) ? given : { message: given }
}

/** Returns the missing or additional members: Ajv and TypeBox point at their object. */
function membersOf({ propertyName }: SchemaFault, params: Params): readonly (string | undefined)[] {
  const listed = listParams.map((name) => params[name]).find(Array.isArray)
  if (listed !== undefined) return listed.filter(isString)
  return [[propertyName, ...memberParams.map((name) => params[name])].find(isString)]
}

type Params = Readonly<Record<string, unknown>>

const listParams = ['requiredProperties', 'additionalProperties', 'unevaluatedProperties']
const memberParams = ['missingProperty', 'additionalProperty', 'unevaluatedProperty', 'propertyName']

function messageOf({ keyword, message }: SchemaFault, params: Params): string {
  const { allowedValue, allowedValues, pattern } = params
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') return 'is not known here'
  if (keyword === 'const') return `must be ${shown(allowedValue)}`
  if (keyword === 'enum' && Array.isArray(allowedValues))
    return `must be one of ${allowedValues.slice(0, maxAllowed).map(shown).join(', ')}`
  if (!isString(message)) return 'is invalid'
  // Regular expressions are not for clients.
  return isString(pattern) && message.includes(pattern) ? 'must match the required pattern' : message
}

const maxAllowed = 20

function shown(value: unknown): string {
  return isString(value) ? value : (exactJson(value, false) ?? 'another value')
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}
