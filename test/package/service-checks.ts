import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'

const json = { 'content-type': 'application/json' }

type Refusal = InjectOptions & { readonly status: number; readonly code: string }

// Those of scripts/smoke.mjs, and what hooks do not see.
const refusals: readonly Refusal[] = [
  { status: 404, code: 'path-uppercase', url: '/v1/Users' },
  { status: 404, code: 'path-encoded', url: '/v1/%55sers' },
  { status: 400, code: 'uri-malformed', url: '/%zz' },
  { status: 404, code: 'not-found', url: '/nope' },
  { status: 405, code: 'method-not-allowed', method: 'DELETE', url: '/v1/users' },
  { status: 406, code: 'not-acceptable', url: '/v1/users/1', headers: { accept: 'image/png' } },
  {
    status: 400,
    code: 'body-malformed',
    method: 'POST',
    url: '/v1/users',
    headers: json,
    payload: '{"name":',
  },
  { status: 400, code: 'validation', method: 'POST', url: '/v1/users', headers: json, payload: '{}' },
  {
    status: 413,
    code: 'content-too-large',
    method: 'POST',
    url: '/v1/users',
    headers: json,
    payload: JSON.stringify({ name: 'x'.repeat(20_000) }),
  },
  {
    status: 415,
    code: 'unsupported-media-type',
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': 'text/plain' },
    payload: 'hello',
  },
  { status: 400, code: 'fields-invalid', url: '/v1/users/1?fields=zz' },
  { status: 500, code: 'internal-server-error', url: '/v1/failures' },
]

async function refuses(t: Test, app: FastifyInstance): Promise<void> {
  for (const { status, code, ...request } of refusals) {
    const answer = await app.inject(request)
    t.equal(answer.headers['content-type'], 'application/problem+json', `${code}: a problem document`)
    t.match(answer.json(), { status, code })
    t.equal(answer.statusCode, status)
  }
}

async function represents(t: Test, app: FastifyInstance): Promise<void> {
  const read = await app.inject('/v1/users/1')
  t.equal(
    read.payload,
    '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada","updated_at":"2026-11-20T08:00:00Z"}',
    'exact integers with their twins, and no hidden field',
  )
  const selected = await app.inject('/v1/users/1?fields=name')
  t.equal(selected.payload, '{"name":"Ada"}')
  const head = await app.inject({ method: 'HEAD', url: '/v1/users/1' })
  t.equal(head.headers.etag, read.headers.etag, 'HEAD has the tag of GET')
  t.equal(head.headers['content-length'], String(Buffer.byteLength(read.payload)))
  for (const method of ['GET', 'HEAD'] as const) {
    const headers = { 'if-none-match': String(read.headers.etag) }
    const { statusCode, headers: answered } = await app.inject({ method, url: '/v1/users/1', headers })
    t.equal(statusCode, 304, `${method} answers 304`)
    t.notOk('content-length' in answered)
  }
}

/** Checks that a service of `buildService()` keeps the conventions, and closes it. */
export async function keepsConventions(t: Test, app: FastifyInstance): Promise<void> {
  await refuses(t, app)
  await represents(t, app)
  await app.close()
}
