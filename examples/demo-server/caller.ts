import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import type { Database } from './database.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Id of the user who is asking; `null` for a request without a token. */
    callerId: bigint | null
  }
}

/** What a token looks like, for people. */
export const tokenHint = 'Authorization: Bearer dev-user-<id>, with the id of a user'

const developmentToken = /^Bearer dev-user-(\d{1,19})$/i
const maxId = 2n ** 63n - 1n

/**
 * Finds out who is asking, by a token that anybody can make up: `Authorization: Bearer dev-user-<id>`. FOR DEVELOPMENT
 * ONLY: it proves nothing. A real service asks whoever issues its tokens. A token that is of no user is refused, whatever
 * is asked for.
 */
export function identifyCallers(app: FastifyInstance, { database }: { readonly database: Database }): void {
  app.decorateRequest('callerId', null)
  app.addHook('onRequest', async function identifyCaller(request) {
    const { authorization } = request.headers
    if (authorization === undefined) return
    const id = BigInt(developmentToken.exec(authorization)?.[1] ?? -1)
    const isId = id >= 0n && id <= maxId
    const found = isId
      ? await database.query({ text: 'select id from users where id = $1', values: [id] })
      : []
    if (found.length === 0) throw unauthorized('the token is of no user', 'Bearer error="invalid_token"')
    request.callerId = id
  })
}

/** Returns who is asking; `null` for a request without a token. */
export function callerOf({ callerId }: FastifyRequest): bigint | null {
  return callerId
}

/**
 * Returns who is asking.
 *
 * @throws ProblemError 401 `unauthorized` for a request without a token
 */
export function requireCaller({ callerId }: FastifyRequest): bigint {
  if (callerId === null) throw unauthorized('this needs a caller', 'Bearer')
  return callerId
}

function unauthorized(reason: string, challenge: string): ProblemError {
  return new ProblemError('unauthorized', {
    detail: `${reason}: send ${tokenHint}`,
    headers: { 'www-authenticate': challenge },
  })
}
