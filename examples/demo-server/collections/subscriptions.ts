import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ProblemError } from 'fastify-conventions'
import { type Static, Type } from 'typebox'
import { refuseForeign, refuseReserved } from '../caller.js'
import type { Queries, Service } from '../database.js'
import {
  changesOf,
  columnsOf,
  expectItem,
  expectNewId,
  given,
  type ItemRequest,
  isExpected,
  isVisible,
  nextVersion,
  notFound,
  type RequestById,
  readPage,
  refuseToLeave,
  validatorsOf,
  writableOf,
} from '../items.js'
import { routesOf } from '../routes.js'
import {
  closed,
  itemOf,
  itemResponse,
  line,
  noMembers,
  nullable,
  oneOf,
  readOnlyMembers,
  reference,
  timestamp,
  withDefault,
} from '../schemas.js'

const fields = {
  user_id: reference('The user who subscribed'),
  plan: line(100, 'Name of the plan'),
  status: oneOf(['active', 'suspended', 'cancelled'], 'Does the subscription run?'),
  renews_at: nullable(timestamp('When the next period begins, if one does')),
}

/** What a user pays for again and again. */
export const Subscription = itemOf('subscription', 'What users pay for again and again', fields)
const NewSubscription = Type.Object(
  {
    ...fields,
    status: withDefault(fields.status, 'active'),
    renews_at: withDefault(fields.renews_at, null),
  },
  closed,
)
const WholeSubscription = Type.Object({ ...NewSubscription.properties, ...readOnlyMembers }, closed)
const SubscriptionPatch = Type.Partial(Type.Object({ ...fields, ...readOnlyMembers }), closed)
type Status = Static<typeof fields.status>
const Filters = Type.Partial(Type.Pick(Subscription, ['user_id', 'status', 'plan']), closed)

/** Mounts `/v1/subscriptions`, and what is done to a subscription: suspend, cancel. */
export const subscriptions: FastifyPluginAsyncTypebox<Service> = async function mountSubscriptions(
  app,
  { db },
) {
  const routes = routesOf({
    item: Subscription,
    filters: Filters,
    bodies: { made: NewSubscription, whole: WholeSubscription, changed: SubscriptionPatch },
    visibility: 'Users see their own subscriptions, and admins all.',
    codes: { 'status-final': 409, 'reference-not-found': 422 },
    findVersion,
  })

  app.get('/v1/subscriptions', routes.list, async function listSubscriptions(request, reply) {
    const found = db
      .selectFrom('subscriptions')
      .where(isVisible(request))
      .where(({ and }) => and(given(request.query, Filters)))
    const { rows, total } = await readPage(found, Subscription, request)
    return reply.list(rows, total)
  })

  app.post('/v1/subscriptions', routes.create, async function createSubscription(request, reply) {
    const { body } = request
    refuseReserved(request, changesOf(body, { status: 'active' }), ['status'])
    refuseForeign(request, body.user_id, 'a subscription')
    const subscription = await db
      .insertInto('subscriptions')
      .values(inMilliseconds(body))
      .returningAll()
      .executeTakeFirstOrThrow()
    return reply.code(201).header('location', `/v1/subscriptions/${subscription.id}`).send(subscription)
  })

  app.get('/v1/subscriptions/:id', routes.read, async function readSubscription(request) {
    const missing = () => notFound('subscription', request.params.id)
    return visible(db, request).select(columnsOf(Subscription, request)).executeTakeFirstOrThrow(missing)
  })

  app.put('/v1/subscriptions/:id', routes.replace, async function replaceSubscription(request, reply) {
    if (request.expectedVersion !== null) return updateSubscription(request)
    const { id } = request.params
    await expectNewId(db, 'subscriptions', request)
    const values = { id, ...inMilliseconds(writableOf(request.body, { id }, NewSubscription)) }
    const subscription = await db
      .insertInto('subscriptions')
      .values(values)
      .returningAll()
      .executeTakeFirstOrThrow()
    return reply.code(201).header('location', `/v1/subscriptions/${id}`).send(subscription)
  })

  app.patch('/v1/subscriptions/:id', routes.update, updateSubscription)

  app.delete('/v1/subscriptions/:id', routes.remove, async function deleteSubscription(request, reply) {
    const deleted = await db
      .deleteFrom('subscriptions')
      .where('id', '=', request.params.id)
      .where(isVisible(request))
      .where(isExpected(request))
      .returning('updated_at')
      .executeTakeFirst()
    expectItem('subscription', request, deleted)
    return reply.code(204).send()
  })

  /** Writes the members of a body whose values are new; without one, the subscription stays as it is. */
  async function updateSubscription(request: ItemRequest<Static<typeof SubscriptionPatch>>) {
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const subscription = expectItem('subscription', request, found)
      const changes = changesOf(writableOf(request.body, subscription, NewSubscription), subscription)
      refuseToLeave('cancelled', 'subscription', subscription, changes)
      refuseReserved(request, changes, ['status'])
      refuseForeign(request, changes.user_id, 'a subscription')
      if (Object.keys(changes).length === 0) return subscription
      return trx
        .updateTable('subscriptions')
        .set({ ...inMilliseconds(changes), updated_at: nextVersion })
        .where('id', '=', subscription.id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: RequestById) {
    const subscription = await visible(db, request).select('updated_at').executeTakeFirst()
    return subscription === undefined ? null : validatorsOf(subscription)
  }

  const action = {
    ...routes.action.schema,
    body: noMembers,
    response: { 200: itemResponse(Subscription) },
  }

  app.post(
    '/v1/subscriptions/:id/suspend',
    {
      schema: {
        ...action,
        operationId: 'suspendSubscription',
        summary: 'Suspend subscription',
        description: 'Suspends an active subscription. Repeated, it changes nothing.',
      },
      config: { ...routes.action.config, problems: { codes: { 'not-suspendable': 409 } } },
    },
    async function suspendSubscription(request) {
      return bringInto('suspended', ['active'], 'not-suspendable', request)
    },
  )

  app.post(
    '/v1/subscriptions/:id/cancel',
    {
      schema: {
        ...action,
        operationId: 'cancelSubscription',
        summary: 'Cancel subscription',
        description: 'Ends a subscription for good. Repeated, it changes nothing.',
      },
      config: { ...routes.action.config, problems: { codes: { 'not-cancellable': 409 } } },
    },
    async function cancelSubscription(request) {
      return bringInto('cancelled', ['active', 'suspended'], 'not-cancellable', request)
    },
  )

  /** Brings a subscription from one of some states into another, in which it may be already. */
  async function bringInto(status: Status, from: readonly Status[], refusal: string, request: ItemRequest) {
    const { id } = request.params
    const changed = await db
      .updateTable('subscriptions')
      .set({ status, updated_at: nextVersion })
      .where('id', '=', id)
      .where(isVisible(request))
      .where(isExpected(request))
      .where('status', 'in', from)
      .returningAll()
      .executeTakeFirst()
    if (changed !== undefined) return changed
    const found = await visible(db, request).selectAll().executeTakeFirst()
    const subscription = expectItem('subscription', request, found)
    if (subscription.status === status) return subscription
    const detail = `the subscription ${id} is ${subscription.status}`
    throw new ProblemError(refusal, { status: 409, detail })
  }
}

/** Times are kept in milliseconds; a finer one would differ from itself. */
function inMilliseconds<Values extends { readonly renews_at?: string | null }>(values: Values): Values {
  const { renews_at } = values
  return typeof renews_at === 'string' ? { ...values, renews_at: new Date(renews_at).toISOString() } : values
}

/** Returns the query of the item that a request names, if the caller sees it. */
function visible(queries: Queries, request: ItemRequest) {
  return queries.selectFrom('subscriptions').where('id', '=', request.params.id).where(isVisible(request))
}
