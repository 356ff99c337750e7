import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import type { ExpressionBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { takeEmptyBodies, takeMergePatches } from '../bodies.js'
import { forbidden, type Owner, ownerOf } from '../caller.js'
import { changesOf, refuseReserved, refuseToLeave, writableOf } from '../changes.js'
import type { Queries } from '../database.js'
import {
  type ById,
  expectItem,
  type ItemRequest,
  isExpected,
  nextVersion,
  notFound,
  refuseFutureId,
  validatorsOf,
} from '../items.js'
import { columnsOf, given, listColumnsOf, onePage } from '../pages.js'
import {
  closed,
  createdResponse,
  emptyResponse,
  idParams,
  itemOf,
  itemResponse,
  line,
  listResponse,
  noMembers,
  noQuery,
  nullable,
  oneOf,
  readOnlyMembers,
  reference,
  timestamp,
  withDefault,
} from '../schemas.js'
import type { Service } from '../service.js'
import type { Tables } from '../tables.js'

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
const WholeSubscription = Type.Object(
  { ...NewSubscription.properties, ...readOnlyMembers('subscription') },
  closed,
)
const SubscriptionPatch = Type.Object(
  { ...Type.Partial(Type.Object(fields)).properties, ...readOnlyMembers('subscription') },
  closed,
)
const { user_id, plan, status } = fields
type Status = Static<typeof status>
const Filters = Type.Partial(Type.Object({ user_id, status, plan }), closed)

const ofItem = { tags: ['subscriptions'], params: idParams, querystring: noQuery }

/** Mounts `/v1/subscriptions`, and what is done to a subscription: suspend, cancel. */
export const subscriptions: FastifyPluginAsyncTypebox<Service> = async function mountSubscriptions(
  app,
  { db },
) {
  const reading = { scopes: ['subscriptions:read'] }
  const codes = { 'status-final': 409, 'reference-not-found': 422 }
  const writing = {
    bearer: { scopes: ['subscriptions:write'] },
    problems: { codes },
    caching: { validators: findVersion, validatorsOf },
  }

  app.get(
    '/v1/subscriptions',
    {
      schema: {
        operationId: 'listSubscriptions',
        summary: 'List subscriptions',
        tags: ['subscriptions'],
        querystring: Filters,
        response: { 200: listResponse('subscriptions', Subscription) },
      },
      config: {
        bearer: reading,
        lists: { member: 'subscriptions' },
        fields: {},
        caching: {},
      },
    },
    async function listSubscriptions(request, reply) {
      const found = db
        .selectFrom('subscriptions')
        .where(visibleTo(ownerOf(request)))
        .where(({ and }) => and(given(request.query, ['user_id', 'status', 'plan'])))
      const rows = await onePage(found.select(listColumnsOf(Subscription, request)), request.page).execute()
      if (!request.page.includeTotal) return reply.list(rows)
      const { total } = await found
        .select(({ fn }) => fn.countAll<bigint>().as('total'))
        .executeTakeFirstOrThrow()
      return reply.list(rows, total)
    },
  )

  app.post(
    '/v1/subscriptions',
    {
      schema: {
        operationId: 'createSubscription',
        summary: 'Create subscription',
        tags: ['subscriptions'],
        querystring: noQuery,
        body: NewSubscription,
        response: { 201: createdResponse(Subscription, 'The new subscription') },
      },
      config: { ...writing, caching: { validatorsOf } },
    },
    async function createSubscription(request, reply) {
      const { body } = request
      const owner = ownerOf(request)
      refuseReserved(owner, changesOf(body, { status: 'active' }), ['status'])
      refuseForeign(owner, body.user_id)
      const subscription = await db
        .insertInto('subscriptions')
        .values(inMilliseconds(body))
        .returningAll()
        .executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/subscriptions/${subscription.id}`).send(subscription)
    },
  )

  app.get(
    '/v1/subscriptions/:id',
    {
      schema: {
        operationId: 'readSubscription',
        summary: 'Read subscription',
        ...ofItem,
        response: { 200: itemResponse(Subscription, 'The subscription') },
      },
      config: {
        bearer: reading,
        fields: {},
        caching: { cacheControl: { private: true, noCache: true }, validators: findVersion },
      },
    },
    async function readSubscription(request) {
      const missing = () => notFound('subscription', request.params.id)
      return visible(db, request).select(columnsOf(Subscription, request)).executeTakeFirstOrThrow(missing)
    },
  )

  app.put(
    '/v1/subscriptions/:id',
    {
      schema: {
        operationId: 'replaceSubscription',
        summary: 'Replace subscription',
        ...ofItem,
        body: WholeSubscription,
        response: {
          200: itemResponse(Subscription, 'The subscription as it is now'),
          201: createdResponse(Subscription, 'The new subscription, made with If-None-Match: *'),
        },
      },
      config: { ...writing, problems: { codes: { ...codes, 'id-not-given-out': 422 } } },
    },
    async function replaceSubscription(request, reply) {
      if (request.expectedVersion !== null) return update(request)
      // Any other precondition is about an item that is gone. Users do not choose ids: they would learn which are in use.
      const { id } = request.params
      if (request.headers['if-none-match'] !== '*' || ownerOf(request) !== 'all')
        throw notFound('subscription', id)
      await refuseFutureId(db, 'subscriptions', id)
      const values = { id, ...inMilliseconds(writableOf(request.body, { id }, NewSubscription)) }
      const subscription = await db
        .insertInto('subscriptions')
        .values(values)
        .returningAll()
        .executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/subscriptions/${id}`).send(subscription)
    },
  )

  await app.register(async function mountPatch(scope: typeof app) {
    takeMergePatches(scope)
    scope.patch(
      '/v1/subscriptions/:id',
      {
        schema: {
          operationId: 'updateSubscription',
          summary: 'Update subscription',
          ...ofItem,
          consumes: ['application/merge-patch+json', 'application/json'],
          body: SubscriptionPatch,
          response: { 200: itemResponse(Subscription, 'The subscription as it is now') },
        },
        config: writing,
      },
      async function updateSubscription(request) {
        return update(request)
      },
    )
  })

  app.delete(
    '/v1/subscriptions/:id',
    {
      schema: {
        operationId: 'deleteSubscription',
        summary: 'Delete subscription',
        ...ofItem,
        response: { 204: emptyResponse('The subscription is gone') },
      },
      config: { ...writing, problems: { codes: { 'still-referenced': 409 } } },
    },
    async function deleteSubscription(request, reply) {
      const deleted = await db
        .deleteFrom('subscriptions')
        .where('id', '=', request.params.id)
        .where(visibleTo(ownerOf(request)))
        .where(isExpected(request))
        .returning('updated_at')
        .executeTakeFirst()
      expectItem('subscription', request, deleted)
      return reply.code(204).send()
    },
  )

  /** Writes the members of a body whose values are new; without one, the subscription stays as it is. */
  async function update(request: ItemRequest<Static<typeof SubscriptionPatch>>) {
    const { id } = request.params
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const subscription = expectItem('subscription', request, found)
      const changes = changesOf(writableOf(request.body, subscription, NewSubscription), subscription)
      const owner = ownerOf(request)
      refuseToLeave('cancelled', 'subscription', subscription, changes)
      refuseReserved(owner, changes, ['status'])
      refuseForeign(owner, changes.user_id)
      if (Object.keys(changes).length === 0) return subscription
      return trx
        .updateTable('subscriptions')
        .set({ ...inMilliseconds(changes), updated_at: nextVersion })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: FastifyRequest<ById>) {
    const subscription = await visible(db, request).select('updated_at').executeTakeFirst()
    return subscription === undefined ? null : validatorsOf(subscription)
  }

  await app.register(async function mountActions(scope: typeof app) {
    takeEmptyBodies(scope)
    const action = {
      ...ofItem,
      body: noMembers,
      response: { 200: itemResponse(Subscription, 'The subscription as it is now') },
    }

    scope.post(
      '/v1/subscriptions/:id/suspend',
      {
        schema: { ...action, operationId: 'suspendSubscription', summary: 'Suspend subscription' },
        config: { bearer: writing.bearer, problems: { codes: { 'not-suspendable': 409 } } },
      },
      async function suspendSubscription(request) {
        return bringInto('suspended', ['active'], 'not-suspendable', request)
      },
    )

    scope.post(
      '/v1/subscriptions/:id/cancel',
      {
        schema: { ...action, operationId: 'cancelSubscription', summary: 'Cancel subscription' },
        config: { bearer: writing.bearer, problems: { codes: { 'not-cancellable': 409 } } },
      },
      async function cancelSubscription(request) {
        return bringInto('cancelled', ['active', 'suspended'], 'not-cancellable', request)
      },
    )
  })

  /** Brings a subscription from one of some states into another, in which it may be already. */
  async function bringInto(status: Status, from: readonly Status[], refusal: string, request: ItemRequest) {
    const { id } = request.params
    const changed = await db
      .updateTable('subscriptions')
      .set({ status, updated_at: nextVersion })
      .where('id', '=', id)
      .where(visibleTo(ownerOf(request)))
      .where('status', 'in', from)
      .returningAll()
      .executeTakeFirst()
    if (changed !== undefined) return changed
    const subscription = await visible(db, request)
      .selectAll()
      .executeTakeFirstOrThrow(() => notFound('subscription', id))
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
  const { id } = request.params
  return queries
    .selectFrom('subscriptions')
    .where('id', '=', id)
    .where(visibleTo(ownerOf(request)))
}

/** Users see their own, and admins see all. */
function visibleTo(owner: Owner) {
  return ({ eb, lit }: ExpressionBuilder<Tables, 'subscriptions'>) =>
    owner === 'all' ? lit(true) : eb('user_id', '=', owner)
}

function refuseForeign(owner: Owner, user_id: bigint | undefined): void {
  if (owner === 'all' || user_id === undefined || user_id === owner) return
  throw forbidden('user_id: only an admin writes a subscription of another user')
}
