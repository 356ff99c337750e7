import type { FastifyRequest } from 'fastify'
import type { OperationOwner, ResolvedOperations } from './options.js'

/** Who is asking, as records keep it; `null` where that is not known, or callers are not told apart. */
export async function ownerOf(
  request: FastifyRequest,
  { identify }: Pick<ResolvedOperations, 'identify'>,
): Promise<string | null> {
  return identify === null ? null : ownerText(await identify(request))
}

/**
 * An owner as records keep it.
 *
 * @throws TypeError for what is no id: by the text of an object all callers would be one
 */
export function ownerText(owner: OperationOwner | undefined): string | null {
  if (owner === null || owner === undefined) return null
  const isId =
    typeof owner === 'string' ? owner !== '' : typeof owner === 'bigint' || Number.isSafeInteger(owner)
  if (!isId) throw new TypeError('operations: the owner is no id: expected a string, an integer or null')
  return String(owner)
}
