import type { Collection } from './declaration.js'

/** Codes of problems, each with its status, for `config.problems.codes` of a route. */
export type Codes = Readonly<Record<string, number>>

/** Codes that any route may answer. */
export const commonCodes: Codes = { forbidden: 403, 'database-unavailable': 503 }

/** Codes of a route that writes an item. */
export function writeCodes({ fields, unique = [], rules = [], finalStatuses = [] }: Collection): Codes {
  const refers = Object.values(fields).some(({ references }) => references !== undefined)
  return {
    ...(unique.length > 0 ? { 'already-exists': 409 } : {}),
    ...(finalStatuses.length > 0 ? { 'status-final': 409 } : {}),
    ...(refers ? { 'reference-not-found': 422 } : {}),
    ...Object.fromEntries(rules.map(({ code }) => [code, 422])),
  }
}

/** Codes of a route that waits for the operation that creates an item. */
export const creationCodes: Codes = { 'operation-cancelled': 409, 'operation-timed-out': 500 }

/** Codes of a route that starts an operation by itself. */
export const startCodes: Codes = {
  'quota-exceeded': 429,
  'operations-full': 503,
  'operations-unavailable': 503,
}
