import type { FastifyInstance } from 'fastify'
import { kept } from '../kept.js'
import { ProblemError } from '../problem/problem-error.js'
import { type Json, pointerToken } from '../schema/json-schema.js'
import { partsOf, propertiesOf } from '../schema/reader.js'
import { mapBodies } from '../schema/responses.js'
import { jsonSchemaIn, readerOf } from './route-schemas.js'

/** The parts of a request that `changesOf()` reads. */
export interface RequestWithBody<Body> {
  readonly body: Body
  readonly server: FastifyInstance
  readonly routeOptions: { readonly schema?: unknown }
}

interface SpecialMembers {
  readonly readOnly: ReadonlySet<string>
  readonly times: ReadonlySet<string>
}

const known = new WeakMap<FastifyInstance, WeakMap<object, SpecialMembers>>()

/**
 * Returns the members of the body of a PUT or PATCH whose values differ from those of the row that it changes, so that a
 * client may send back what it has read. A member that the schema of the body marks as `readOnly: true` (JSON Schema
 * Validation §9.4) may be repeated, and is never among the members that are returned.
 *
 * Integers are compared by value, also a Number with a BigInt; strings of the format `date-time`, and Dates, by the moment
 * that they name; all else by structure. A member that the row does not have differs from it.
 *
 * Not for a JSON Patch, or a body that is not an object.
 *
 * @param row the row as the handler has read it, with its read-only members
 * @throws ProblemError 400 `validation` if a read-only member has another value than the row
 */
export function changesOf<Body>(request: RequestWithBody<Body>, row: object): Partial<Body> {
  const { readOnly, times } = specialMembers(request)
  const changed = Object.entries(request.body ?? {}).filter(
    ([name, value]) =>
      !isSame(value, Object.hasOwn(row, name) ? row[name as never] : undefined, times.has(name)),
  )
  const refused = changed.flatMap(([name]) => (readOnly.has(name) ? [name] : []))
  if (refused.length === 0) return Object.fromEntries(changed) as Partial<Body>
  throw new ProblemError('validation', {
    detail: `${refused.join(', ')}: read-only, so its value can only be repeated`,
    errors: refused.map((name) => ({
      in: 'body',
      pointer: `/${pointerToken(name)}`,
      message: 'is read-only: leave it out, or send the value that it has',
    })),
  })
}

function specialMembers({ server, routeOptions }: RequestWithBody<unknown>): SpecialMembers {
  const body = (routeOptions.schema as { readonly body?: unknown } | undefined)?.body
  if (!(body instanceof Object)) return { readOnly: new Set(), times: new Set() }
  const ofServer = kept(known, server, () => new WeakMap())
  return kept(ofServer, body, () => {
    const schemas: Json[] = []
    // A body may have a schema for each media type, as a response.
    mapBodies(
      { body },
      (schema) => void schemas.push(jsonSchemaIn(server, schema as object, 'input') as Json),
    )
    const reader = readerOf(server)
    const members = [...propertiesOf(partsOf(reader, schemas))]
    const having = (keyword: string, value: Json) =>
      new Set(
        members
          .filter(([, given]) => partsOf(reader, given).some((part) => part[keyword] === value))
          .map(([name]) => name),
      )
    return { readOnly: having('readOnly', true), times: having('format', 'date-time') }
  })
}

// As deep as the row, which is not the client's.
function isSame(sent: unknown, held: unknown, isTime = false): boolean {
  if (isTime || held instanceof Date) return momentOf(sent) === momentOf(held)
  if (isInteger(sent) && isInteger(held)) return BigInt(sent) === BigInt(held)
  if (!isParent(sent) || !isParent(held)) return sent === held
  const names = Object.keys(sent)
  return (
    Array.isArray(sent) === Array.isArray(held) &&
    names.length === Object.keys(held).length &&
    names.every((name) => Object.hasOwn(held, name) && isSame(sent[name], held[name]))
  )
}

function isParent(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isInteger(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isInteger(value)
}

/** One moment can be written in several ways. */
function momentOf(value: unknown): unknown {
  const moment = typeof value === 'string' || value instanceof Date ? new Date(value).getTime() : Number.NaN
  return Number.isNaN(moment) ? value : moment
}
