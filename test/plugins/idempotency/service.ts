import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { type IdempotencyOptions, idempotency, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

/** Builds an app with `POST /v1/payments`, and a counter of the payments. A caller is who the header `x-user` names. `prepare` runs before the plugin. */
export async function serviceWith(
  options: IdempotencyOptions = {},
  server: FastifyServerOptions = {},
  prepare: (app: FastifyInstance) => unknown = () => {},
) {
  const app: FastifyInstance = Fastify(server)
  await app.register(problems)
  await prepare(app)
  const identify: IdempotencyOptions['identify'] = ({ headers }) => headers['x-user']?.toString() ?? null
  await app.register(idempotency, { identify, ...options })
  let payments = 0
  app.post('/v1/payments', async ({ body }, reply) => {
    payments += 1
    return reply.code(201).header('location', `/v1/payments/${payments}`).send({ id: payments, body })
  })
  return { app, payments: () => payments }
}

/** A request to make a payment. */
export function payment(key: string | null, { headers, ...rest }: InjectOptions = {}): InjectOptions {
  const sent = { 'x-user': 'ada', ...(key !== null && { 'idempotency-key': key }), ...headers }
  return { method: 'POST', url: '/v1/payments', payload: { amount: 5 }, ...rest, headers: sent }
}

const statuses = {
  'key-invalid': 400,
  'in-progress': 409,
  'answer-not-kept': 409,
  'key-reused': 422,
  unavailable: 503,
}

/** Sends a request that is refused with a code of `idempotency`. */
export async function refused(
  t: Test,
  app: FastifyInstance,
  key: string | null,
  code: keyof typeof statuses,
  request: InjectOptions = {},
  detail = /./,
) {
  const answer = await app.inject(payment(key, request))
  const problem = { status: statuses[code], code: `idempotency-${code}`, detail }
  isProblem(t, injected(answer), problem, JSON.stringify([key, request]))
  return answer
}

/** A promise and the function that resolves it. */
export function deferred<Value>() {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((given) => {
    resolve = given
  })
  return { promise, resolve }
}
