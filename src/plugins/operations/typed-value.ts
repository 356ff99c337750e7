import { hasLongDigits, parseExact } from '../../json/exact-json.js'
import { type Int64Range, isDecimal, parseInt64 } from '../../json/int64.js'
import { problemOf } from '../../problem/problem-of.js'
import type { Json, SchemaStore } from '../../schema/json-schema.js'
import { containsInt64, isTwinned, type Shape, twinName } from '../../schema/shape.js'
import { shapeOf } from '../../schema/shape-reader.js'

export type Validate = (value: unknown) => unknown

/** Returns a value with each declared 64-bit integer as a BigInt. With `twins`, members have their twins after them. */
export type Restore = (value: unknown, twins: boolean) => unknown

export function restorer(schema: object, shared: SchemaStore): Restore {
  const shape = shapeOf(schema as Json, shared)
  return containsInt64(shape) ? (value, twins) => restored(shape, value, twins) : (value) => value
}

/**
 * Validates an input by a validator of the app, as Fastify does with a body.
 *
 * @param restore for a validator that knows BigInts; those of Fastify know none
 */
export function validInput(
  validate: Validate & { readonly errors?: unknown },
  json: string | null,
  restore: Restore | null = null,
): unknown {
  const text = json ?? 'null'
  // The root may be converted, too.
  const parent = { body: restore === null ? JSON.parse(text) : restore(parseExact(text), false) }
  const verdict = (validate as (...given: unknown[]) => unknown)(parent.body, {
    parentData: parent,
    parentDataProperty: 'body',
  })
  const { error, value = parent.body } = (isContainer(verdict) ? verdict : {}) as Verdict
  if (verdict === false || error !== undefined) {
    const validation = [error ?? validate.errors ?? []].flat()
    throw problemOf({ statusCode: 400, validation, validationContext: 'body' })
  }
  return restore === null && hasLongDigits(text) ? withDigitsOf(parseExact(text), value) : value
}

interface Verdict {
  readonly error?: unknown
  readonly value?: unknown
}

/** Puts integers in the places of the Numbers that stood for them, or that a validator made of their digits. */
function withDigitsOf(exact: unknown, value: unknown): unknown {
  if (typeof exact === 'bigint') return value === Number(exact) ? exact : value
  if (typeof value === 'number' && typeof exact === 'string') {
    return Number.isSafeInteger(value) || !isDecimal(exact) ? value : BigInt(exact)
  }
  if (!isContainer(exact) || !isContainer(value)) return value
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(exact, name)) value[name] = withDigitsOf(exact[name], value[name])
  }
  return value
}

function restored(shape: Shape, value: unknown, twins: boolean): unknown {
  switch (shape.kind) {
    case 'integer':
      return shape.int64 === null ? value : bigIntOf(value, shape.int64)
    case 'array':
      return Array.isArray(value) ? value.map((item) => restored(shape.items, item, twins)) : value
    case 'choice':
      return shape.options.reduce((result, option) => restored(option.shape, result, twins), value)
    case 'object':
      if (!isContainer(value) || Array.isArray(value)) return value
      return Object.fromEntries(
        Object.entries(value).flatMap(([name, member]) => {
          const own = shape.members.find((one) => one.name === name)?.shape
          const at = own ?? shape.patterns.find(({ pattern }) => pattern.test(name))?.shape ?? shape.rest
          if (at === null) return [[name, member]]
          const exact = restored(at, member, twins)
          const isAlone = twins && isTwinned(at) && !Object.hasOwn(value, twinName(name))
          const twin = isAlone ? twinOf(exact) : undefined
          return [[name, exact], ...(twin === undefined ? [] : [[twinName(name), twin]])]
        }),
      )
    default:
      return value
  }
}

function twinOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return value.map((item) => twinOf(item) ?? null)
  return value === null ? null : undefined
}

function bigIntOf(value: unknown, range: Int64Range): unknown {
  const isInteger = typeof value === 'bigint' || typeof value === 'string' || Number.isSafeInteger(value)
  return isInteger ? (parseInt64(String(value), range) ?? value) : value
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
