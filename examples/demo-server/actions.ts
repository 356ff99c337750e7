import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { requireCaller } from './caller.js'
import { friends } from './collections/friends.js'
import { orders } from './collections/orders.js'
import { subscriptions } from './collections/subscriptions.js'
import { problemOfWrite } from './constraint-problems.js'
import type { Database, Row } from './database.js'
import type { Collection } from './declaration.js'
import { takeEmptyBodies } from './empty-bodies.js'
import { problemResponses } from './problem-responses.js'
import { idParams, noQuery } from './schemas.js'
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
            ...problemResponses(400, 404, 406, 409, 413, 415),
          },
        },
      },
      async function performTransition({ params: { id } }): Promise<Row> {
        const [changed] = await database.query(setStatus(collection, id, to, from))
        if (changed !== undefined) return changed
        const [row] = await database.query(selectOne(collection, id, null))
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
      security: [{ developmentToken: [] }],
      response: {
        204: { description: 'The caller follows the user', type: 'null' },
        ...problemResponses(400, 404, 413, 415, 422),
      },
    },
  } as const
  app.post<ById>('/v1/users/:id/follow', follow, followUser)
  app.post<ById>(
    '/v1/user/:id/follow',
    {
      schema: { ...follow.schema, operationId: 'followUserBySingular' },
      config: {
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
    const friendship = { user_id: requireCaller(request), friend_user_id: id }
    await database.query(insertRow(friends, friendship)).catch((error: unknown) => {
      const problem = problemOfWrite(error, friends, friendship)
      if (!(problem instanceof ProblemError)) throw problem
      // Who follows already goes on to do so; who is not there cannot be followed.
      if (problem.code === 'already-exists') return
      if (problem.code !== 'reference-not-found') throw problem
      throw new ProblemError('not-found', { detail: `there is no user ${id}` })
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
