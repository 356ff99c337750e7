import type { FastifyRequest } from 'fastify'
import type { ResolvedOperations } from './operations-options.js'

/** Who is asking, as records keep it; `null` where that is not known, or callers are not told apart. */
export async function ownerOf(
  request: FastifyRequest,
  { identify }: Pick<ResolvedOperations, 'identify'>,
): Promise<string | null> {
  const owner = identify === null ? null : await identify(request)
  return owner === null ? null : String(owner)
}
