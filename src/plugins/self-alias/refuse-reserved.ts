import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'

/**
 * The `preValidation` hook of a route that writes records: an alias cannot be made the id of one, for nobody could ask
 * for it. Aliases are lowercase, and so is what is compared: an id that differs by case alone would be taken for one.
 *
 * @param members of the body that hold the id
 * @param told where occurrences are counted, and let through; `null` to refuse them
 */
export function refuseReserved(
  members: readonly string[],
  aliases: ReadonlySet<string>,
  told: Reporter | null,
) {
  return function refuseReservedOnPreValidation(
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    const { body } = request
    const member =
      typeof body === 'object' && body !== null ? members.find((name) => isAlias(body, name)) : undefined
    if (member === undefined) next()
    else if (told !== null) {
      told.observe('selfAlias', 'reserved', request, `${member} stands for the caller`)
      next()
    } else refuse(request, reply, reserved(member), next)
  }

  function isAlias(body: object, name: string): boolean {
    const value: unknown = Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined
    return typeof value === 'string' && aliases.has(value.toLowerCase())
  }
}

function reserved(member: string): ProblemError {
  const pointer = `/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const message = 'is reserved: it stands for the caller'
  return new ProblemError('validation', {
    detail: `${pointer} ${message}`,
    errors: [{ in: 'body', pointer, message }],
  })
}
