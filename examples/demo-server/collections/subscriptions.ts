import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { mountCollection } from '../collection.js'
import type { Service } from '../database.js'
import type { Values } from '../items.js'
import { itemOf, itemResponse, line, noMembers, nullable, oneOf, reference, timestamp } from '../schemas.js'

const fields = {
  user_id: reference('The user who subscribed'),
  plan: line(100, 'Name of the plan'),
  status: oneOf(['active', 'suspended', 'cancelled'], 'Does the subscription run?'),
  renews_at: nullable(timestamp('When the next period begins, if one does')),
}

export const Subscription = itemOf('subscription', 'What users pay for again and again', fields)
export const subscriptions: FastifyPluginAsyncTypebox<Service> = async function mountSubscriptions(
  app,
  service,
) {
  const { action, bringInto } = mountCollection(app, service, {
    item: Subscription,
    fields,
    defaults: { status: 'active', renews_at: null },
    filters: ['user_id', 'status', 'plan'],
    visibility: 'Users see their own subscriptions, and admins all.',
    codes: { 'status-final': 409, 'reference-not-found': 422 },
    reserved: ['status'],
    final: 'cancelled',
    toRow: inMilliseconds,
  })
  const schema = { ...action.schema, body: noMembers, response: { 200: itemResponse(Subscription) } }

  app.post(
    '/v1/subscriptions/:id/suspend',
    {
      schema: {
        ...schema,
        operationId: 'suspendSubscription',
        summary: 'Suspend subscription',
        description: 'Suspends an active subscription. Repeated, it changes nothing.',
      },
      config: { ...action.config, problems: { codes: { 'not-suspendable': 409 } } },
    },
    async function suspendSubscription(request) {
      return bringInto('suspended', ['active'], 'not-suspendable', request)
    },
  )

  app.post(
    '/v1/subscriptions/:id/cancel',
    {
      schema: {
        ...schema,
        operationId: 'cancelSubscription',
        summary: 'Cancel subscription',
        description: 'Ends a subscription for good. Repeated, it changes nothing.',
      },
      config: { ...action.config, problems: { codes: { 'not-cancellable': 409 } } },
    },
    async function cancelSubscription(request) {
      return bringInto('cancelled', ['active', 'suspended'], 'not-cancellable', request)
    },
  )
}

/** Times are kept in milliseconds; a finer one would differ from itself. */
function inMilliseconds({ renews_at, ...values }: Values): Values {
  if (renews_at === undefined) return values
  return { ...values, renews_at: renews_at && new Date(String(renews_at)).toISOString() }
}
