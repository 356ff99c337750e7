import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { listenAlong } from '../../convention/exchange.js'
import { requestSlot } from '../../convention/slots.js'
import type { Effect, Steps } from '../../convention/steps.js'
import { isForm, isJson, mediaTypeOf } from '../../http/media-types.js'
import { hasLongDigits, quoteLongNumbers } from '../../json/exact-json.js'
import { textOfIssues } from '../../problem/issues.js'
import { longestDetail, ProblemError } from '../../problem/problem-error.js'
import { compileConditions } from '../../schema/alternatives.js'
import {
  isPlainObject,
  type Json,
  mapSchema,
  mapSubschemas,
  type SchemaStore,
} from '../../schema/json-schema.js'
import { SchemaReader } from '../../schema/reader.js'
import { containsInt64, mentionsInt64, type Shape, someShape } from '../../schema/shape.js'
import { shapeOf } from '../../schema/shape-reader.js'
import { clip } from '../../text.js'
import { type Input, type InputResult, putIntegers, takeTwins } from './input.js'

const parts = [
  { keyword: 'params', name: 'params', part: 'path' },
  { keyword: 'body', name: 'body', part: 'body' },
  { keyword: 'querystring', name: 'query', part: 'query' },
] as const

type Part = (typeof parts)[number] & {
  readonly shape: Shape
  readonly hasSets: boolean
  /** Whether the validator is of another library: it gets the BigInts, and may convert them. */
  readonly isConverted: boolean
}

interface RequestInputs {
  /** The text of the body, until it is read. */
  text: string | null
  readonly read: Map<Part, Input>
}

const requestInputs = requestSlot<RequestInputs>('integerTwins.input')

interface InputRoute {
  readonly given: FastifySchema
  readonly isEnforced: boolean
  atReady(check: () => void): void
  onUnreadable(reason: string): void
}

/** The steps that put exact BigInts in a request; none if its schemas declare no 64-bit integer. */
export function inputSteps(
  app: FastifyInstance,
  schemas: FastifySchema,
  { given, isEnforced, atReady, onUnreadable }: InputRoute,
): Steps {
  if (!parts.some(({ keyword }) => mentionsInt64(schemas[keyword]))) return {}
  const planned: Part[] = []
  atReady(() => {
    try {
      planned.push(...plannedParts(app, schemas, given))
    } catch (error) {
      onUnreadable(`the schema of its input cannot be read: ${(error as Error).message}`)
    }
  })

  function inputOf(request: FastifyRequest, part: Part): Input {
    return requestInputs.get(request)?.read.get(part) ?? readInput(request, part, null)
  }

  /** The parts that are exact only after the validator has run, or the others. */
  function putIn(request: FastifyRequest, isConverted: boolean): Effect | undefined {
    const read = planned.filter((part) => part.isConverted === isConverted)
    return effectOf(read.map((part) => putIntegers(inputOf(request, part), request, part.name)))
  }

  return {
    preParsing: mentionsInt64(schemas.body)
      ? (request, _reply, payload) => {
          const hasBody = planned.some(({ name }) => name === 'body')
          if (hasBody && isJson(mediaTypeOf(request.headers['content-type'])))
            collectText(payload as Readable, request.routeOptions.bodyLimit, (text) => {
              requestInputs.set(request, { text, read: new Map() })
            })
          return undefined
        }
      : undefined,
    preValidation(request) {
      if (planned.length === 0) return undefined
      const { text = null } = requestInputs.get(request) ?? {}
      const read = new Map(planned.map((part) => [part, readInput(request, part, text)]))
      requestInputs.set(request, { text: null, read })
      const early = planned.filter((part) =>
        part.name === 'body' ? text === null || mayNeedChanges(part, text) : isEnforced && !part.isConverted,
      )
      const taken = effectOf(early.map((part) => takeTwins(inputOf(request, part), request, part.name)))
      if (taken?.refusal !== undefined || !planned.some(({ isConverted }) => isConverted)) return taken
      // What is put in depends on the twins that have been taken.
      if (isEnforced) taken?.change?.()
      return [taken, putIn(request, true)].filter((effect) => effect !== undefined)
    },
    preHandler: (request) => (planned.length === 0 ? undefined : putIn(request, false)),
  }
}

function plannedParts(app: FastifyInstance, schemas: FastifySchema, given: FastifySchema): readonly Part[] {
  const shared = app.getSchemas() as SchemaStore
  return parts.flatMap((part): Part[] => {
    const schema = schemas[part.keyword]
    if (!isPlainObject(schema) || !mentionsInt64(schema)) return []
    refuseUnread(schema as Json, shared)
    const shape = shapeOf(schema as Json, shared, { compile: compileConditions })
    if (!containsInt64(shape)) return []
    const hasSets = someShape(shape, (one) => one.kind === 'array' && one.isSet)
    return [{ ...part, shape, hasSets, isConverted: schema !== given[part.keyword] }]
  })
}

const unread: ReadonlySet<string> = new Set([
  ...['additionalItems', 'prefixItems', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['dependencies', 'dependentSchemas'],
])

// Fastify's serializers do not know every keyword: an integer below an unknown one would be rounded silently.
function refuseUnread(schema: Json, shared: SchemaStore): void {
  const bundled = new SchemaReader(shared)
  mapSchema(bundled.bundle(bundled.absolute(schema)), (part, before) => {
    mapSubschemas(before, (one, keyword) => {
      if (unread.has(keyword) && /"format":"u?int64"/.test(JSON.stringify(one)))
        throw new TypeError(`it declares 64-bit integers in '${keyword}'`)
      return one
    })
    return part
  })
}

function readInput(request: FastifyRequest, part: Part, text: string | null): Input {
  const isText = part.name === 'body' && text !== null
  const long = isText && hasLongDigits(text) ? withLongNumbers(text) : undefined
  return {
    ...part,
    written: isText ? long : copyOf(request[part.name]),
    isOfTexts: part.name !== 'body' || isForm(mediaTypeOf(request.headers['content-type'])),
    standIns: new Map(),
  }
}

function mayNeedChanges({ hasSets }: Part, json: string): boolean {
  // The name of a twin may be written with escapes.
  return json.includes('_str"') || json.includes('\\u') || (hasSets && hasLongDigits(json))
}

function effectOf(results: readonly InputResult[]): Effect | undefined {
  const issues = results.flatMap((one) => one.issues)
  if (issues.length > 0) {
    const isMismatch = results.every((one) => one.isMismatch)
    const isPoisoned = results.some((one) => one.isPoisoned)
    const code = isPoisoned ? 'body-malformed' : isMismatch ? 'integer-twin-mismatch' : 'validation'
    const given = textOfIssues(issues)
    const refusal = new ProblemError(code, { detail: clip(given, longestDetail), errors: issues })
    return { rule: 'input', given, refusal }
  }
  const changes = results.flatMap((one) => one.changes)
  if (changes.length === 0) return undefined
  const change = (): void => {
    for (const apply of changes) apply()
  }
  return { rule: 'input', given: '64-bit integers would be BigInts', change }
}

/** Collects the text of a body, of which a parser keeps rounded Numbers. */
function collectText(payload: Readable, limit: number, keep: (text: string) => void): void {
  const chunks: Buffer[] = []
  let length = 0
  listenAlong(payload, {
    part(chunk) {
      length += chunk.length
      // The parser refuses what is over its limit: no need to keep it.
      if (length <= limit) chunks.push(Buffer.from(chunk as Uint8Array))
    },
    end() {
      const text = Buffer.concat(chunks).toString()
      if (length <= limit) keep(text.startsWith('\ufeff') ? text.slice(1) : text)
    },
  })
}

/** A body with the text of its long numbers; nothing where only the parser of the app takes it for JSON. */
export function withLongNumbers(text: string): unknown {
  try {
    return JSON.parse(quoteLongNumbers(text))
  } catch {
    return undefined
  }
}

function copyOf(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1))
  // Instances of classes may be streams. Those of Fastify's parsers have a prototype without members.
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one, depth + 1)]))
}

const maxDepth = 500
