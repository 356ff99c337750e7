import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import { addHook } from '../../fastify/route.js'
import { jsonSchemasOf } from '../../fastify/route-schemas.js'
import { RouteSerialization } from '../../fastify/serialization.js'
import { requestSlot } from '../../fastify/slots.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { holdsBigInt } from '../../json/exact-json.js'
import { hasLongDigits } from '../../json/json-text.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { mentionsInt64 } from '../../json-schema/twins.js'
import { boundedIssues, textOfIssues, validationIssues } from '../../problem/issues.js'
import { longestDetail } from '../../problem/problem-document.js'
import { notUtf8, type ProblemCode, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { clip } from '../../text.js'
import { type BodyText, collectText, writtenAs } from './body-text.js'
import {
  copyOf,
  type InputRefusal,
  type Int64Input,
  type Int64Plan,
  needsPreparation,
  prepareInput,
  putExactIntegers,
} from './int64-input.js'
import { int64PlacesOf } from './int64-places.js'
import { type TwinChanges, twinChanges } from './twin-changes.js'

const parts = [
  { keyword: 'params', name: 'params', part: 'path' },
  { keyword: 'body', name: 'body', part: 'body' },
  { keyword: 'querystring', name: 'query', part: 'query' },
] as const

type Name = (typeof parts)[number]['name']
type Next = (error?: Error) => void

interface PlannedPart {
  readonly name: Name
  readonly plan: Int64Plan
  /** Whether the validator is of another library: it gets the BigInts, and may convert them. */
  readonly isConverted: boolean
}

/** What is known of a request from its first hook to its last. */
interface InputState extends BodyText {
  readonly inputs: Partial<Record<Name, Int64Input>>
}

const states = requestSlot<InputState>('integerTwins.input')

function stateOf(request: FastifyRequest): InputState {
  const known = states.get(request)
  if (known !== undefined) return known
  const state: InputState = { text: null, isMalformed: false, inputs: {} }
  states.set(request, state)
  return state
}

/** With a reporter, what would happen to the integers of requests is only counted. */
export function addInputHooks(
  app: FastifyInstance,
  route: RouteOptions,
  reporter: Reporter | null,
): (() => void) | null {
  const schema = jsonSchemasOf(route)
  if (schema === undefined || !parts.some(({ keyword }) => mentionsInt64(schema[keyword]))) return null
  const { schema: given = {} } = route
  const planned: PlannedPart[] = []
  states.declare(app)
  if (mentionsInt64(schema.body)) collectBodyOf(route, () => planned.some(({ name }) => name === 'body'))
  if (reporter === null) addExactHooks(route, planned)
  else addCountInputsHook(route, planned, reporter)
  return function readSchemas() {
    planned.push(...plannedParts(app, schema, given))
  }
}

function addExactHooks(route: RouteOptions, planned: readonly PlannedPart[]): void {
  addHook(route, 'preValidation', 'integerTwins', function prepareInputs(request, reply, next) {
    if (planned.length === 0) return next()
    const state = stateOf(request)
    if (state.isMalformed) return refuse(request, reply, notUtf8(), next)
    const refusals = planned.flatMap(({ name, plan, isConverted }) => {
      const refusal = preparePart(request, name, plan, state)
      return (isConverted ? (refusal ?? putExact(request, name, plan, state.inputs)) : refusal) ?? []
    })
    state.text = null
    if (refusals.length === 0) return next()
    refuseInput(request, reply, allFaults(request, planned, state, refusals), next)
  })
  addHook(route, 'preHandler', 'integerTwins', function putIntegers(request, reply, next) {
    if (planned.length === 0) return next()
    const { inputs } = stateOf(request)
    for (const { name, plan, isConverted } of planned) {
      if (isConverted) continue
      const refusal = putExact(request, name, plan, inputs)
      if (refusal !== null) return refuseInput(request, reply, refusal, next)
    }
    next()
  })
}

function collectBodyOf(route: RouteOptions, hasBody: () => boolean): void {
  addHook(route, 'preParsing', 'integerTwins', function collectBody(request, _reply, payload, next) {
    if (hasBody() && isJson(mediaTypeOf(request.headers['content-type']))) {
      collectText(payload as Readable, request.routeOptions.bodyLimit, stateOf(request))
    }
    next(null, payload)
  })
}

function plannedParts(
  app: FastifyInstance,
  schema: FastifySchema,
  given: FastifySchema,
): readonly PlannedPart[] {
  const shared = app.getSchemas() as SchemaStore
  return parts.flatMap(({ keyword, name, part }) => {
    const places = int64PlacesOf(schema[keyword], shared)
    return places === null
      ? []
      : [
          {
            name,
            plan: { ...places, part },
            isConverted: schema[keyword] !== given[keyword],
          },
        ]
  })
}

function addCountInputsHook(route: RouteOptions, planned: readonly PlannedPart[], reporter: Reporter): void {
  addHook(route, 'preValidation', 'integerTwins', function countInputs(request, _reply, next) {
    const { text = null, isMalformed = false } = states.get(request) ?? {}
    for (const { name, plan } of isMalformed ? [] : planned) {
      // Of a copy, because the integers are put in in place.
      const copy = { headers: request.headers, [name]: copyOf(request[name]) } as unknown as FastifyRequest
      const state: InputState = { text, isMalformed, inputs: {} }
      const refusal = preparePart(copy, name, plan, state) ?? putExact(copy, name, plan, state.inputs)
      if (refusal === null && !holdsBigInt(copy[name])) continue
      const [example, does] =
        refusal === null
          ? [`64-bit integers of the ${plan.part} would be BigInts`, 'changed' as const]
          : [textOfIssues(refusal.issues), 400]
      reporter.observe('integerTwins', 'input', request, example, does)
    }
    next()
  })
}

function preparePart(
  request: FastifyRequest,
  name: Name,
  plan: Int64Plan,
  state: InputState,
): InputRefusal | null {
  const text = name === 'body' ? state.text : null
  const value: unknown = request[name]
  const isLong = text !== null && hasLongDigits(text)
  const copy = text === null ? copyOf(value) : undefined
  const isOfTexts = name !== 'body' || isForm(request)
  const input: Int64Input = { value, written: isLong ? writtenAs(text) : copy, isOfTexts, distinct: null }
  state.inputs[name] = input
  if (text !== null && !needsPreparation(plan, text, isLong)) return null
  const refusal = prepareInput(plan, input)
  put(request, name, input.value)
  return refusal
}

function isForm({ headers }: FastifyRequest): boolean {
  const type = mediaTypeOf(headers['content-type'])
  return type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data'
}

function putExact(
  request: FastifyRequest,
  name: Name,
  plan: Int64Plan,
  inputs: InputState['inputs'],
): InputRefusal | null {
  const isOfTexts = name !== 'body'
  const input = { written: undefined, isOfTexts, distinct: null, ...inputs[name], value: request[name] }
  const refusal = putExactIntegers(plan, input)
  if (refusal === null) put(request, name, input.value)
  return refusal
}

function put(request: FastifyRequest, name: Name, value: unknown): void {
  if (request[name] !== value) (request as unknown as Record<Name, unknown>)[name] = value
}

/** Adds what else is wrong with the input, as the validator of the app is not asked any more. */
function allFaults(
  request: FastifyRequest,
  planned: readonly PlannedPart[],
  { inputs }: InputState,
  refusals: readonly InputRefusal[],
): InputRefusal {
  // Before the integers are put in, which the validator does not know.
  const ofSchemas = parts.flatMap(({ keyword, name }) =>
    validationIssues(schemaFaults(request, keyword, name), keyword),
  )
  const ofIntegers = planned.flatMap(({ name, plan }) => putExact(request, name, plan, inputs)?.issues ?? [])
  const known = refusals.flatMap(({ issues }) => issues)
  // A twin has been taken for the member that it is the twin of.
  const ofTwins = new Set(known.map((issue) => placeOf(issue).replaceAll(twinEnd, '') + issue.message))
  known.push(...ofIntegers.filter((issue) => !ofTwins.has(placeOf(issue) + issue.message)))
  const places = known.map(placeOf)
  // What holds a fault is at fault because of it.
  const isKnown = (place: string): boolean =>
    places.some((one) => one === `${place}_str` || `${one}/`.startsWith(`${place}/`))
  const others = ofSchemas.filter((issue) => !isKnown(placeOf(issue)))
  const isMismatch =
    refusals.every(({ kind }) => kind === 'mismatch') && ofIntegers.length + others.length === 0
  return { kind: isMismatch ? 'mismatch' : 'invalid', issues: boundedIssues([...known, ...others]) }
}

const twinEnd = /_str(?=\/|$)/g

function placeOf(issue: ProblemIssue): string {
  return issue.in === 'body' ? `body${issue.pointer}` : `${issue.in}/${issue.name}`
}

/** The faults that the app's validator finds in a part; none where it cannot be asked at once. */
function schemaFaults(
  request: FastifyRequest,
  keyword: (typeof parts)[number]['keyword'],
  name: Name,
): readonly unknown[] {
  const validate: unknown = request.getValidationFunction(keyword)
  if (typeof validate !== 'function') return []
  try {
    const outcome: unknown = validate(request[name] ?? null)
    if (outcome instanceof Promise) outcome.catch(() => {})
    const { errors } = validate as { readonly errors?: unknown }
    return outcome === false && Array.isArray(errors) ? errors : []
  } catch {
    return []
  }
}

function refuseInput(
  request: FastifyRequest,
  reply: FastifyReply,
  { kind, issues }: InputRefusal,
  next: Next,
): void {
  const code: ProblemCode = kind === 'mismatch' ? 'integer-twin-mismatch' : 'validation'
  const detail = clip(textOfIssues(issues), longestDetail)
  refuse(request, reply, new ProblemError(code, { detail, errors: issues }), next)
}

export function addCountHook(
  app: FastifyInstance,
  route: RouteOptions,
  reporter: Reporter,
): RouteSerialization {
  const name = `${[route.method].flat().join(', ')} ${route.url}`
  const { response } = jsonSchemasOf(route) ?? {}
  const serialization = new RouteSerialization(app, response, name, route.serializerCompiler)
  serialization.twins = true
  addHook(
    route,
    'preSerialization',
    'integerTwins',
    function countTwins(request, reply, payload: unknown, next: CountNext) {
      const { twin, lost } = changesOf(serialization, reply, payload)
      if (lost !== null) {
        const example = `${lost} is a Number beyond 2^53 in a declared 64-bit integer: its digits are lost`
        reporter.observe('integerTwins', 'lost-digits', request, example, 500)
      }
      if (twin !== null)
        reporter.observe('integerTwins', 'twin', request, `${twin} would get a twin`, 'changed')
      next(null, payload)
    },
  )
  return serialization
}

type CountNext = (error: null, payload: unknown) => void

const noChanges: TwinChanges = { twin: null, lost: null }

function changesOf(serialization: RouteSerialization, reply: FastifyReply, payload: unknown): TwinChanges {
  try {
    const writer = serialization.twinnedWriter(reply, payload)
    return writer === null ? noChanges : twinChanges(payload, writer.write)
  } catch {
    // A payload that does not match its schema, or a getter that throws, is the app's to handle, as without this plugin.
    return noChanges
  }
}
