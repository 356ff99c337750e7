import type { ProblemIssue } from '../errors.js'

/** What a schema validator says of one fault; Ajv's form, which other validators of Fastify follow. */
export interface SchemaFault {
  readonly instancePath?: unknown
  readonly keyword?: unknown
  readonly message?: unknown
  readonly params?: unknown
}

const places = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const

const mostIssues = 50

/** The faults of an input part (`body`, `querystring`, `params`, `headers`) as issues, in order, at most 50. */
export function validationIssues(faults: readonly unknown[], part: string | undefined): ProblemIssue[] {
  const place = isPlace(part) ? places[part] : 'body'
  return faults.slice(0, mostIssues).map((given): ProblemIssue => {
    const fault = faultOf(given)
    const pointer = pointerOf(fault)
    const message = messageOf(fault)
    return place === 'body'
      ? { in: place, pointer, message }
      : { in: place, name: unescaped(pointer.split('/')[1] ?? ''), message }
  })
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
  const member = memberParams.map((name) => textParam(fault, name)).find((value) => value !== undefined)
  return member === undefined ? at : `${at}/${escaped(member)}`
}

const memberParams = ['missingProperty', 'additionalProperty', 'unevaluatedProperty', 'propertyName']

function messageOf(fault: SchemaFault): string {
  const message = typeof fault.message === 'string' ? fault.message : 'is invalid'
  if (fault.keyword === 'required') return 'is required'
  if (fault.keyword === 'additionalProperties' || fault.keyword === 'unevaluatedProperties')
    return 'is not known here'
  const allowed = fault.keyword === 'enum' ? param(fault, 'allowedValues') : undefined
  return Array.isArray(allowed)
    ? `must be one of ${allowed.slice(0, mostAllowed).map(shown).join(', ')}`
    : message
}

const mostAllowed = 20

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function param(fault: SchemaFault, name: string): unknown {
  return typeof fault.params === 'object' && fault.params !== null
    ? (fault.params as Record<string, unknown>)[name]
    : undefined
}

function textParam(fault: SchemaFault, name: string): string | undefined {
  const value = param(fault, name)
  return typeof value === 'string' ? value : undefined
}

// RFC 6901 §3.
function escaped(member: string): string {
  return member.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescaped(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
