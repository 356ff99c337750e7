import Fastify, {
  type FastifyInstance,
  type FastifyServerOptions,
  type InjectOptions,
  type LightMyRequestResponse,
} from 'fastify'
import type { Test } from 'tap'
import { type IdempotencyOptions, idempotency } from '../../../src/plugins/idempotency/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { injected, isProblem } from '../../support/problem.js'

/** Builds an app with `POST /v1/payments`, and a counter of the payments. A caller is who the header `x-user` names. `prepare` runs before the plugin. */
export async function serviceWith(
  options: IdempotencyOptions = {},
  server: FastifyServerOptions = {},
  prepare: (app: FastifyInstance) => unknown = () => {},
): Promise<{ readonly app: FastifyInstance; readonly payments: () => number }> {
  const app: FastifyInstance = Fastify(server)
  await app.register(problems)
  await prepare(app)
  await app.register(idempotency, {
    identify: ({ headers }) => (headers['x-user'] as string | undefined) ?? null,
    ...options,
  })
  let payments = 0
  app.post('/v1/payments', async (request, reply) => {
    payments += 1
    const { status = 201 } = request.query as { status?: number }
    return reply
      .code(Number(status))
      .header('location', `/v1/payments/${payments}`)
      .send({ id: payments, amount: (request.body as { amount?: number } | null)?.amount ?? null })
  })
  return { app, payments: () => payments }
}

/** A request to make a payment. */
export function payment(
  key: string | null,
  { headers, ...rest }: InjectOptions = {},
): InjectOptions & { headers: Record<string, string> } {
  return {
    method: 'POST',
    url: '/v1/payments',
    payload: { amount: 5 },
    ...rest,
    headers: {
      'x-user': 'ada',
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...(headers as Record<string, string>),
    },
  }
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
  detail: RegExp = /./,
): Promise<LightMyRequestResponse> {
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
