import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { injected, isProblem } from '../support/problem.js'

type Refusal = readonly [status: number, code: string, url: string, type?: string, payload?: string]

// Those of scripts/smoke.mjs, and what hooks do not see.
const refusals: readonly Refusal[] = [
  [404, 'path-uppercase', '/v1/Users'],
  [404, 'path-encoded', '/v1/%55sers'],
  [400, 'uri-malformed', '/%zz'],
  [404, 'not-found', '/nope'],
  [405, 'method-not-allowed', '/v1/failures', 'application/json', '{}'],
  [400, 'body-malformed', '/v1/users', 'application/json', '{"name":'],
  [400, 'validation', '/v1/users', 'application/json', '{}'],
  [413, 'content-too-large', '/v1/users', 'application/json', JSON.stringify({ name: 'x'.repeat(20_000) })],
  [415, 'unsupported-media-type', '/v1/users', 'text/plain', 'hello'],
  [400, 'fields-invalid', '/v1/users/1?fields=zz'],
  [500, 'internal-server-error', '/v1/failures'],
]

/** Checks that a service of `buildService()` keeps the conventions, and closes it. */
export async function keepsConventions(t: Test, app: FastifyInstance): Promise<void> {
  for (const [status, code, url, type, payload] of refusals) {
    const post = { method: 'POST', headers: { 'content-type': type ?? '' }, payload: payload ?? '' } as const
    const answer = await app.inject({ url, ...(type === undefined ? {} : post) })
    isProblem(t, injected(answer), { status, code })
  }
  const read = await app.inject('/v1/users/1')
  t.equal(
    read.payload,
    '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada","updated_at":"2026-11-20T08:00:00Z"}',
    'exact integers with their twins, and no hidden field',
  )
  t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
  const headers = { 'if-none-match': String(read.headers.etag) }
  for (const method of ['GET', 'HEAD'] as const)
    t.equal((await app.inject({ method, url: '/v1/users/1', headers })).statusCode, 304, method)
  await app.close()
}
