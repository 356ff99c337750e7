import { pointerToken } from '../../json/json-pointer.js'
import { ProblemError } from '../../problem/problem-error.js'

/**
 * Returns the problem of a body that gives a record an alias as its id, because no request could reach that record;
 * `null` if there is none. Aliases are lowercase and compared without case.
 *
 * @param members members of the body with the id
 */
export function reservedProblem(
  body: unknown,
  members: readonly string[],
  aliases: ReadonlySet<string>,
): ProblemError | null {
  if (typeof body !== 'object' || body === null) return null
  const member = members.find((name) => {
    const value: unknown = Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined
    return typeof value === 'string' && aliases.has(value.toLowerCase())
  })
  if (member === undefined) return null
  const pointer = `/${pointerToken(member)}`
  const message = 'is reserved for the caller'
  return new ProblemError('validation', {
    detail: `${pointer} ${message}`,
    errors: [{ in: 'body', pointer, message }],
  })
}
