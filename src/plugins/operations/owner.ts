import type { FastifyRequest } from 'fastify'
import type { ResolvedOperations } from './options.js'
import { ownerText } from './record.js'

/** Who is asking, as records keep it; `null` where that is not known, or callers are not told apart. */
export async function ownerOf(
  request: FastifyRequest,
  { identify }: Pick<ResolvedOperations, 'identify'>,
): Promise<string | null> {
  return identify === null ? null : ownerText(await identify(request))
}
