import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { ownerOf, requireUser } from './caller.js'
import { friends } from './collections/friends.js'
import { orders } from './collections/orders.js'
import { subscriptions } from './collections/subscriptions.js'
import { problemOfWrite } from './constraint-problems.js'
import { ConstraintViolation, type Database, type Row } from './database.js'
import type { Collection } from './declaration.js'
import { takeEmptyBodies } from './empty-bodies.js'
import { writeCodes } from './problem-codes.js'
import { idParams, noQuery } from './schemas.js'
import { scopeOf } from './scopes.js'
import { insertRow, selectOne, setStatus } from './sql.js'

/** An action that brings an item into another state. */
interface Transition {
  readonly collection: Collection
  readonly verb: string
  readonly to: string
  /** The states it can be done in; in the state that it leads to, it is done already. */
  readonly from: readonly string[]
  /** Code of the problem where it cannot be done. */
  readonly refusal: string
}

const transitions: readonly Transition[] = [
  {
    collection: orders,
    verb: 'cancel',
    to: 'cancelled',
    from: ['pending', 'paid', 'failed'],
    refusal: 'not-cancellable',
  },
  {
    collection: subscriptions,
    verb: 'suspend',
    to: 'suspended',
    from: ['active'],
    refusal: 'not-suspendable',
  },
  {
    collection: subscriptions,
    verb: 'cancel',
    to: 'cancelled',
    from: ['active', 'suspended'],
    refusal: 'not-cancellable',
  },
]

// An action without members of its own: no body, or an empty object.
const noMembers = { type: ['object', 'null'], additionalProperties: false, properties: {} }

interface ById {
  Params: { id: bigint }
}

/** Mounts the actions: what is done to an item, and is no change of a field that the client makes. */
export async function mountActions(
  app: FastifyInstance,
  { database }: { readonly database: Database },
): Promise<void> {
  takeEmptyBodies(app)

  for (const { collection, verb, to, from, refusal } of transitions) {
    const { name, singular } = collection
    app.post<ById>(
      `/v1/${name}/:id/${verb}`,
      {
        schema: {
          ...about(verb, singular, name),
          body: noMembers,
          response: {
            200: { description: `The ${singular} as it is now`, $ref: `${singular}#` },
          },
        },
        config: {
          bearer: { scopes: [scopeOf(collection, 'write')] },
          problems: { codes: { [refusal]: 409 } },
        },
      },
      async function performTransition(request): Promise<Row> {
        const { id } = request.params
        const owner = ownerOf(request)
        const [changed] = await database.query(setStatus(collection, id, to, from, owner))
        if (changed !== undefined) return changed
        const [row] = await database.query(selectOne(collection, id, null, owner))
        if (row === undefined)
          throw new ProblemError('not-found', { detail: `there is no ${singular} ${id}` })
        if (row.status === to) return row
        const detail = `the ${singular} ${id} is ${String(row.status)}`
        throw new ProblemError(refusal, { status: 409, detail })
      },
    )
  }

  const follow = {
    schema: {
      ...about('follow', 'user', 'users'),
      body: noMembers,
      response: {
        204: { description: 'The caller follows the user', type: 'null' },
      },
    },
  } as const
  const bearer = { scopes: [scopeOf(friends, 'write')] }
  const problems = { codes: writeCodes(friends) }
  app.post<ById>('/v1/users/:id/follow', { ...follow, config: { bearer, problems } }, followUser)
  app.post<ById>(
    '/v1/user/:id/follow',
    {
      schema: { ...follow.schema, operationId: 'followUserBySingular' },
      config: {
        bearer,
        problems,
        pathGuard: { except: ['plural'], reason: 'older clients ask for it under the singular' },
        selfAlias: true,
      },
    },
    followUser,
  )

  async function followUser(
    request: FastifyRequest<ById>,
    reply: { code(status: number): { send(): unknown } },
  ) {
    const { id } = request.params
    const friendship = { user_id: requireUser(request), friend_user_id: id }
    await database.query(insertRow(friends, friendship)).catch((error: unknown) => {
      if (error instanceof ConstraintViolation) {
        // Who follows already goes on to do so; who is not there cannot be followed.
        if (error.kind === 'unique') return
        if (error.constraint === 'friends_friend_user_id_fkey')
          throw new ProblemError('not-found', { detail: `there is no user ${id}` })
      }
      throw problemOfWrite(error, friends, friendship)
    })
    return reply.code(204).send()
  }
}

function about(verb: string, singular: string, collection: string) {
  const words = `${verb} ${singular}`
  return {
    operationId: verb + singular.charAt(0).toUpperCase() + singular.slice(1),
    summary: words.charAt(0).toUpperCase() + words.slice(1),
    tags: [collection],
    params: idParams,
    querystring: noQuery,
  }
}
