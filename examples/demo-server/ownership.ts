import { forbidden, type Owner } from './caller.js'
import { ConstraintViolation, type Queries } from './database.js'
import type { Collection } from './declaration.js'
import { selectOne, type Values } from './sql.js'

/**
 * Refuses a row that would belong to somebody else than the caller. That of an item which belongs to nobody, such as the
 * payment of an unknown order, looks the same as that of an item of somebody else.
 *
 * @param row as it would be
 * @throws ProblemError 403 `forbidden`
 * @throws ConstraintViolation as the database does for a reference to nothing
 */
export async function refuseForeign(
  queries: Queries,
  { name, singular, owner: { field, of } }: Collection,
  owner: Owner,
  row: Values,
): Promise<void> {
  if (owner === 'all') return
  if (of === undefined) {
    if (row[field] === owner) return
    throw forbidden(`${field}: only an admin writes a ${singular} of another user`)
  }
  const [own] = await queries.query(selectOne(of, row[field] as bigint, ['id'], owner))
  if (own === undefined) throw new ConstraintViolation('reference', `${name}_${field}_fkey`, name, undefined)
}

/**
 * Refuses values that only an admin gives.
 *
 * @param current the row as it is, or the defaults of one that is yet to be made
 * @throws ProblemError 403 `forbidden`
 */
export function refuseReserved({ fields }: Collection, owner: Owner, body: Values, current?: Values): void {
  if (owner === 'all') return
  const changed = Object.keys(body).filter((name) => {
    const field = fields[name]
    return field?.reserved === true && body[name] !== (current === undefined ? field.default : current[name])
  })
  if (changed.length > 0) throw forbidden(`${changed.join(', ')}: only an admin changes it`)
}
