import { ProblemError } from 'fastify-conventions'

interface Violation {
  /** PostgreSQL, appendix A: class 23. */
  readonly code: '23503' | '23505' | '23514'
  readonly constraint: string
  readonly table: string
  /** `Key (user_id)=(7) …`; the words around it depend on the language of the server. */
  readonly detail?: string
}

/** What is unique: the fields to blame, by the name of the index. */
const unique: Readonly<Record<string, { readonly item: string; readonly fields: readonly string[] }>> = {
  users_email_key: { item: 'user', fields: ['email'] },
  friends_user_id_friend_user_id_key: { item: 'friend', fields: ['user_id', 'friend_user_id'] },
}

/** The collection that a field refers to, by the name of the constraint. */
const references: Readonly<Record<string, string>> = {
  friends_user_id_fkey: 'users',
  friends_friend_user_id_fkey: 'users',
  orders_user_id_fkey: 'users',
  subscriptions_user_id_fkey: 'users',
  payments_order_id_fkey: 'orders',
}

/** Returns the problem of a write that a constraint of the database refused; `undefined` for any other error. */
export function problemOfConstraint(error: unknown): ProblemError | undefined {
  const { code, constraint = '', table, detail = '' } = error as Partial<Violation>
  const [, field = '', value = ''] = /\((.*?)\)=\((.*)\)/.exec(detail) ?? []
  if (code === '23505') return duplicate(constraint, error)
  if (code === '23514' && constraint === 'friends_not_self_check') return friendOfSelf(error)
  const referred = references[constraint]
  if (code !== '23503' || referred === undefined) return undefined
  // The key is that of the referred item where a delete is refused, and the reference itself where a write is.
  return field === 'id'
    ? stillReferenced(referred, value, table, error)
    : noReference(field, value, referred, error)
}

export function isRefusedBy(constraint: string, error: unknown): boolean {
  return (
    error instanceof ProblemError &&
    (error.cause as Partial<Violation> | undefined)?.constraint === constraint
  )
}

/** Returns the problem of a body that refers to an item which does not exist. */
export function noReference(field: string, id: unknown, collection: string, cause?: unknown): ProblemError {
  const message = `there is no item ${id} in ${collection}`
  return new ProblemError('reference-not-found', {
    status: 422,
    detail: `${field}: ${message}`,
    errors: [{ in: 'body', pointer: `/${field}`, message }],
    cause,
  })
}

function duplicate(constraint: string, cause: unknown): ProblemError | undefined {
  // Only a PUT names the id of what it makes, on condition that there is none: another request was faster.
  if (/^(users|friends|orders|subscriptions|payments)_pkey$/.test(constraint))
    return new ProblemError('precondition-failed', { cause })
  const broken = unique[constraint]
  if (broken === undefined) return undefined
  const { item, fields } = broken
  return new ProblemError('already-exists', {
    status: 409,
    detail: `another ${item} has the same ${fields.join(' and ')}`,
    errors: fields.map((name) => ({
      in: 'body',
      pointer: `/${name}`,
      message: `is taken by another ${item}`,
    })),
    cause,
  })
}

function friendOfSelf(cause: unknown): ProblemError {
  const message = 'must be another user than user_id'
  return new ProblemError('friend-of-self', {
    status: 422,
    detail: `friend_user_id: ${message}`,
    errors: [{ in: 'body', pointer: '/friend_user_id', message }],
    cause,
  })
}

function stillReferenced(collection: string, id: string, by: unknown, cause: unknown): ProblemError {
  return new ProblemError('still-referenced', {
    status: 409,
    detail: `the ${collection.slice(0, -1)} ${id} is still referenced by ${by}`,
    cause,
  })
}
