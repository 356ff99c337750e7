import { isDeepStrictEqual } from 'node:util'
import { ProblemError } from 'fastify-conventions'
import { forbidden, type Owner } from './caller.js'

/**
 * Returns the members of a body that may be written. The others are read-only: a body may repeat their values.
 *
 * @param row the item as it is; of one that is yet to be made, its id alone
 * @throws ProblemError 400 `validation` if a read-only member has another value
 */
export function writableOf<Body extends object, Name extends keyof Body & string>(
  body: Body,
  row: object,
  writable: { readonly properties: Readonly<Record<Name, unknown>> },
): Pick<Body, Name> {
  const isWritable = ([name]: [string, unknown]) => name in writable.properties
  const changed = Object.keys(changesOf(body, row)).filter((name) => !(name in writable.properties))
  if (changed.length > 0) {
    throw new ProblemError('validation', {
      detail: `${changed.join(', ')}: read-only, so its value can only be repeated`,
      errors: changed.map((name) => ({
        in: 'body',
        pointer: `/${name}`,
        message: 'is read-only: leave it out, or send the value that it has',
      })),
    })
  }
  return Object.fromEntries(Object.entries(body).filter(isWritable)) as Pick<Body, Name>
}

/** Returns the members whose values differ from those of a row. */
export function changesOf<Values extends object>(values: Values, row: object): Partial<Values> {
  const differs = ([name, value]: [string, unknown]) =>
    !isDeepStrictEqual(comparable(name, value), comparable(name, (row as Record<string, unknown>)[name]))
  return Object.fromEntries(Object.entries(values).filter(differs)) as Partial<Values>
}

/**
 * Refuses values that only an admin gives.
 *
 * @throws ProblemError 403 `forbidden`
 */
export function refuseReserved(owner: Owner, changes: object, reserved: readonly string[]): void {
  const changed = reserved.filter((name) => name in changes)
  if (owner !== 'all' && changed.length > 0)
    throw forbidden(`${changed.join(', ')}: only an admin changes it`)
}

/** Refuses to end a status that stays. */
export function refuseToLeave(
  final: string,
  item: string,
  { id, status }: { readonly id: bigint; readonly status: string },
  changes: { readonly status?: string },
): void {
  if (status !== final || changes.status === undefined) return
  throw new ProblemError('status-final', {
    status: 409,
    detail: `the ${item} ${id} is ${status}, and stays so`,
  })
}

/** One time can be written in several ways, and an amount is a BigInt in a row. */
function comparable(name: string, value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  return name.endsWith('_at') && typeof value === 'string' ? Date.parse(value) : value
}
