import { ProblemError } from 'fastify-conventions'
import type { Row } from './database.js'
import type { Collection } from './declaration.js'
import type { Values } from './sql.js'

/**
 * Returns the fields that a body may change, and refuses one that would change others.
 *
 * @param current the item as it is; of one that is yet to be made, its id alone
 * @throws ProblemError 400 `validation` where a read-only member has another value, 409 `status-final` where the status is
 * one that the item keeps
 */
export function changesOf(
  { singular, fields, finalStatuses = [] }: Collection,
  body: Values,
  current: Row,
): Values {
  const isWritable = (name: string) => name in fields && fields[name]?.readOnly !== true
  const changed = Object.keys(body).filter((name) => !isWritable(name) && !isSame(name, body, current))
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
  const status = String(current.status)
  if (finalStatuses.includes(status) && body.status !== undefined && body.status !== status) {
    throw new ProblemError('status-final', {
      status: 409,
      detail: `the ${singular} ${String(current.id)} is ${status}, and stays so`,
    })
  }
  return Object.fromEntries(Object.entries(body).filter(([name]) => isWritable(name)))
}

function isSame(name: string, body: Values, current: Row): boolean {
  // One time can be written in several ways.
  if (name.endsWith('_at')) return Date.parse(String(body[name])) === Date.parse(String(current[name]))
  return body[name] === current[name]
}
