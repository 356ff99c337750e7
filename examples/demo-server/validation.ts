import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifySchemaCompiler } from 'fastify'
import type { JsonSchema } from './declaration.js'

type Bounds = Readonly<{ minimum?: number; maximum?: number }>

const largestInt64 = 2n ** 63n - 1n
const smallestInt64 = -(2n ** 63n)
const decimal = /^(0|-?[1-9]\d{0,18})$/

/**
 * Validates each part of a request by its nature. A JSON body has types of its own, so nothing in it is converted:
 * `"31"` is no integer. Path and query are text, so what becomes of them follows from the schema; an int64 becomes a
 * bigint with every digit. What no schema knows is refused, not removed.
 */
export function validatorCompiler(): FastifySchemaCompiler<JsonSchema> {
  const build = AjvCompiler()
  const shared = { removeAdditional: false, allErrors: false } as const
  const compileBody = build(
    {},
    {
      customOptions: { ...shared, coerceTypes: false },
      // A number beyond 2^53 has lost digits when it gets here: it may name another item than the client meant.
      onCreate: (ajv) => ajv.addFormat('int64', { type: 'number', validate: Number.isSafeInteger }),
    },
  )
  const compileText = build(
    {},
    {
      customOptions: {
        ...shared,
        coerceTypes: true,
        keywords: [{ keyword: 'exactInteger', modifying: true, errors: true, compile: exactInteger }],
      },
    },
  )
  return function compileSchema({ schema, httpPart }) {
    const validate =
      httpPart === 'body' ? compileBody({ schema }) : compileText({ schema: withExactIntegers(schema) })
    return validate as ReturnType<FastifySchemaCompiler<JsonSchema>>
  }
}

/** The schema with every int64 property left to the keyword above, as the type itself would go through a double. */
function withExactIntegers(schema: JsonSchema): JsonSchema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]: [string, JsonSchema]) => {
    if (property.type !== 'integer' || property.format !== 'int64') return [name, property]
    const { minimum, maximum } = property
    return [name, { exactInteger: { minimum, maximum } }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

interface Place {
  readonly parentData: Record<string, unknown>
  readonly parentDataProperty: string | number
}

function exactInteger({ minimum, maximum }: Bounds) {
  const lowest = minimum === undefined ? smallestInt64 : BigInt(minimum)
  const highest = maximum === undefined ? largestInt64 : BigInt(maximum)
  const message = `must be an integer from ${lowest} to ${highest}`

  function toBigInt(text: unknown, place?: Place): boolean {
    if (typeof text === 'string' && decimal.test(text)) {
      const value = BigInt(text)
      if (value >= lowest && value <= highest) {
        if (place !== undefined) place.parentData[place.parentDataProperty] = value
        return true
      }
    }
    toBigInt.errors = [{ keyword: 'exactInteger', message, params: {} }]
    return false
  }
  toBigInt.errors = [] as { keyword: string; message: string; params: object }[]
  return toBigInt
}
