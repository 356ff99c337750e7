import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { integerTwins, problems } from '../../../../src/index.js'
import type { ProblemIssue } from '../../../../src/problem/problem-error.js'

/** What comes of an input: what the handler gets, or what is answered instead. */
export type Received = { readonly value: unknown } | { readonly refusal: Refusal }

interface Refusal {
  /** By the code of the problem: `integer-twin-mismatch`, or `validation`. */
  readonly kind: 'mismatch' | 'invalid'
  readonly issues: readonly ProblemIssue[]
}

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>

export const int64: Schema = { type: 'integer', format: 'int64' }
export const uint64: Schema = { type: 'integer', format: 'uint64' }

export const fromInt64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'
export const fromUint64 = 'must be an integer from 0 to 18446744073709551615'
export const notDecimal = 'must be an integer in plain decimal digits'

export function objectOf(properties: Schema, more: Schema = {}): Schema {
  return { type: 'object', properties, ...more }
}

export function listOf(items: unknown = int64): Schema {
  return { type: 'array', items }
}

/** A schema that may contain itself, as `self`. */
export function recursive(self: Schema): Schema {
  return { $ref: '#/definitions/self', definitions: { self } }
}

export const self: Schema = { $ref: '#/definitions/self' }

type Shared = Readonly<Record<string, Schema>>

/** What comes of a JSON body, with Fastify's own validator, which converts types. */
export function received(schema: Schema, payload: string, shared: Shared = {}) {
  return ask({ body: schema }, payload, 'body', {}, shared)
}

/** The same with a validator that converts nothing. */
export function receivedStrictly(schema: Schema, payload: string, shared: Shared = {}) {
  const customOptions = { coerceTypes: false, useDefaults: false, removeAdditional: false }
  return ask({ body: schema }, payload, 'body', customOptions, shared)
}

type Values = Readonly<Record<string, string | readonly string[]>>

/** What comes of a query string, or of one path parameter. */
export function receivedText(schema: Schema, values: Values, part: 'path' | 'query' = 'query') {
  const entries = Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
  return part === 'query'
    ? ask({ querystring: schema }, { url: `/x?${new URLSearchParams(entries)}` }, 'query')
    : ask({ params: schema }, { url: `/x/${encodeURIComponent(entries[0]?.[1] ?? '')}` }, 'params')
}

type Part = 'body' | 'params' | 'query'

const services = new Map<string, ReturnType<typeof serviceOf>>()

async function ask(
  schema: object,
  request: InjectOptions | string,
  part: Part,
  customOptions: object = {},
  shared: Shared = {},
): Promise<Received> {
  const key = JSON.stringify([schema, customOptions, shared])
  const made = () => {
    const app = Fastify({ ajv: { customOptions: { ...customOptions, strict: false, logger: false } } })
    for (const one of Object.values(shared)) app.addSchema(one)
    return serviceOf(app, schema, part)
  }
  const service = services.get(key) ?? made()
  services.set(key, service)
  return (await service)(request)
}

/** What comes of a request to a route with a schema, or of a JSON body. */
export async function answerOf(
  app: FastifyInstance,
  schema: object,
  request: InjectOptions | string,
  part: Part = 'body',
) {
  return (await serviceOf(app, schema, part))(request)
}

async function serviceOf(app: FastifyInstance, schema: object, part: Part) {
  await app.register(problems)
  await app.register(integerTwins)
  let value: unknown
  app.route({
    method: part === 'body' ? 'POST' : 'GET',
    url: part === 'params' ? '/x/:id' : '/x',
    schema,
    handler: async (received) => {
      // Fastify's own parameters have no prototype.
      value = part === 'body' ? received.body : { ...(received[part] as object) }
      return ''
    },
  })
  return async function answer(request: InjectOptions | string): Promise<Received> {
    const headers = { 'content-type': 'application/json' }
    const body = (payload: string) => ({ method: 'POST' as const, url: '/x', headers, payload })
    const response = await app.inject(typeof request === 'string' ? body(request) : request)
    if (response.statusCode === 200) return { value }
    const { status, code, errors: issues = [] } = response.json()
    if (status !== 400) throw new Error(response.payload)
    return { refusal: { kind: code === 'integer-twin-mismatch' ? 'mismatch' : 'invalid', issues } }
  }
}

type Ask = (schema: Schema, text: string) => Promise<Received>

/** Checks the values that the handler gets. */
export async function gets(
  t: Test,
  schema: Schema,
  rows: readonly (readonly [text: string, value: unknown])[],
  ask: Ask = receivedStrictly,
) {
  for (const [text, value] of rows) t.strictSame(await ask(schema, text), { value }, text.slice(0, 80))
}

/** Checks that bodies are refused with one error; without a message, in the words of the validator. */
export async function refuses(
  t: Test,
  schema: Schema,
  rows: readonly (readonly [text: string, pointer: string, message?: string | RegExp])[],
  { ask = received, kind = 'invalid' }: { readonly ask?: Ask; readonly kind?: Refusal['kind'] } = {},
) {
  for (const [text, pointer, message] of rows) {
    const issue = { in: 'body', pointer, ...(message !== undefined && { message }) }
    const [result, expected] = [await ask(schema, text), { refusal: { kind, issues: [issue] } }]
    if (typeof message === 'string') t.strictSame(result, expected, text.slice(0, 80))
    else t.match(result, expected, text.slice(0, 80))
  }
}
