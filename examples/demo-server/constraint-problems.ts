import { ProblemError } from 'fastify-conventions'
import { ConstraintViolation } from './database.js'
import type { Collection } from './declaration.js'
import type { Values } from './sql.js'

/**
 * What a refused create, replace or update means to the client: 409 `already-exists`, 412, 422 `reference-not-found`, or
 * the problem of the rule that is broken. Any other error comes back as it is.
 */
export function problemOfWrite(error: unknown, collection: Collection, body: Values): unknown {
  if (!(error instanceof ConstraintViolation) || error.table !== collection.name) return error
  // Only a PUT names the id of what it makes, on condition that there is none: somebody else was faster.
  if (error.constraint === `${collection.name}_pkey`)
    return new ProblemError('precondition-failed', { cause: error })
  if (error.kind === 'unique') return duplicate(error, collection)
  if (error.kind === 'reference') return danglingReference(error, collection, body)
  return brokenRule(error, collection)
}

/** What a refused delete means to the client: 409 `still-referenced`. Any other error comes back as it is. */
export function problemOfDelete(error: unknown, collection: Collection, id: bigint): unknown {
  if (!(error instanceof ConstraintViolation) || error.kind !== 'reference') return error
  return new ProblemError('still-referenced', {
    status: 409,
    detail: `the ${collection.singular} ${id} is still referenced by ${error.table}`,
    cause: error,
  })
}

function duplicate(error: ConstraintViolation, { name, singular, unique = [] }: Collection): unknown {
  const broken = unique.find(({ fields }) => error.constraint === `${name}_${fields.join('_')}_key`)
  if (broken === undefined) return error
  return new ProblemError('already-exists', {
    status: 409,
    detail: `another ${singular} has the same ${broken.fields.join(' and ')}`,
    errors: broken.fields.map((field) => issue(field, `is taken by another ${singular}`)),
    cause: error,
  })
}

function danglingReference(error: ConstraintViolation, { name, fields }: Collection, body: Values): unknown {
  const broken = Object.keys(fields).find((field) => error.constraint === `${name}_${field}_fkey`)
  if (broken === undefined) return error
  const message = `there is no item ${String(body[broken])} in ${fields[broken]?.references}`
  return new ProblemError('reference-not-found', {
    status: 422,
    detail: `${broken}: ${message}`,
    errors: [issue(broken, message)],
    cause: error,
  })
}

function brokenRule(error: ConstraintViolation, { rules = [] }: Collection): unknown {
  const broken = rules.find(({ constraint }) => error.constraint === constraint)
  if (broken === undefined) return error
  return new ProblemError(broken.code, {
    status: 422,
    detail: `${broken.field}: ${broken.message}`,
    errors: [issue(broken.field, broken.message)],
    cause: error,
  })
}

function issue(field: string, message: string) {
  return { in: 'body', pointer: `/${field}`, message } as const
}
