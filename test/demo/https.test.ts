/** The demo over TLS: the whole service over HTTP/2 and HTTP/1.1 at one port. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, fetch } from 'undici'
import { buildApp } from '../../examples/demo-server/app.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { readSettings } from '../../examples/demo-server/settings.js'
import { type Certificate, developmentCertificate, openCertificate } from '../../examples/demo-server/tls.js'
import { type Answer, type Caller, callerOf, type Fetch, type Sent, serve, tagOf } from './client.js'
import { emptyDatabase } from './databases.js'
import { issuer } from './issuer.js'
import { startDemo, stopDemo } from './run-demo.js'
import { newUser, sampleOf } from './samples.js'

t.test('HTTP/2 and HTTP/1.1 over TLS have the responses of HTTP/1.1 without TLS', async (t) => {
  const database = await emptyDatabase(t)
  const plain = await serve(t, database)
  const { options: bearer } = await issuer()
  const certificate = await developmentCertificate('127.0.0.1')
  const app = await buildApp({ database, bearer, certificate, pace: 0.02 })
  const versions = new Set<string>()
  app.addHook('onRequest', async ({ raw }) => void versions.add(raw.httpVersion))
  const secure = await listenSecurely(t, app)
  const agents = [agentOf(t, certificate, true), agentOf(t, certificate, false)]

  const expected = await transcript(plain)
  t.strictSame(
    expected.map(({ status }) => status),
    [201, 200, 304, 200, 412, 200, 201, 200, 400, 404, 404, 405, 406, 415, 413, 204, 200, 200, 200],
  )
  for (const agent of agents) {
    t.strictSame(await transcript(callerOf(secure, { send: sendWith(agent) })), expected)
  }

  t.strictSame([...versions], ['2.0', '1.1'])

  for (const agent of agents) {
    const client = callerOf(secure, { send: sendWith(agent) })
    const user = await newUser(client)
    const order = await client.post('/v1/orders', { ...sampleOf.orders(user.id), status: 'failed' })
    const start = await client.call('POST', `/v1/orders/${order.json.id}/retry`, {
      headers: { prefer: 'wait=10' },
    })
    t.match(start, { status: 200, json: { status: 'Succeeded' } }, 'an operation, waited for')
    t.match(start.headers.get('strict-transport-security'), /max-age/)
  }
})

t.test('the demo serves a certificate of its own, and browsers log in', async (t) => {
  const dev = await startDemo(t, { HTTPS: 'dev', ISSUER_URL: '' })
  t.match(dev.origin, /^https:\/\/127\.0\.0\.1:\d+$/)
  const untrusting = await fetch(`${dev.origin}/v1/terms`).catch((error: Error) => error.cause)
  t.match(untrusting, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'nobody vouches for it')
  for (const allowH2 of [true, false]) await logsIn(t, dev.origin, allowH2)
  t.equal(await stopDemo(dev.process, 'SIGTERM'), 0, 'an open HTTP/2 session does not keep it')
})

t.test('the certificate of files', async (t) => {
  const certificate = await developmentCertificate('demo.example')
  const folder = t.testdir({ cert: certificate.cert, key: certificate.key })
  const [TLS_CERT, TLS_KEY] = [join(folder, 'cert'), join(folder, 'key')]
  const open = (variables: Record<string, string>) => openCertificate(readSettings(variables))
  t.strictSame(await open({ TLS_CERT, TLS_KEY }), certificate)
  t.equal(await open({}), null)
  await t.rejects(open({ TLS_CERT: 'missing.pem', TLS_KEY }), /^TLS_CERT: ENOENT/)
  await t.rejects(open({ TLS_CERT, TLS_KEY: TLS_CERT }), /^TLS_CERT and TLS_KEY: /)
})

/** A browser follows the redirects of a login, and reads its own user. */
async function logsIn(t: Test, origin: string, allowH2: boolean): Promise<void> {
  const dispatcher = new Agent({ allowH2, connect: { rejectUnauthorized: false } })
  t.teardown(() => dispatcher.close())
  const cookies = new Map<string, string>()
  const send = async (path: string, body?: string) => {
    const answer = await fetch(new URL(path, origin), {
      dispatcher,
      redirect: 'manual',
      headers: {
        cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
        'sec-fetch-site': 'same-origin',
        'sec-fetch-dest': 'empty',
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { method: 'POST', body }),
    })
    for (const field of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(field) ?? []
      t.match(field, /; secure/i, name)
      cookies.set(name, value)
    }
    return answer
  }
  let path = '/login'
  for (let step = 0; step < 6 && path !== '/'; step += 1) {
    const answer = await send(path, path.startsWith('/oauth/interaction/') ? `user_id=${firstId}` : undefined)
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    const next = new URL(location, origin)
    t.equal(next.origin, origin, 'over TLS')
    path = next.pathname + next.search
  }
  const read = await send(`/v1/users/${firstId}`)
  t.equal(read.status, 200, await read.text())
}

/** What a client sees of a user in its life, and of requests that are refused. */
async function transcript(client: Caller): Promise<readonly Seen[]> {
  const created = await client.post('/v1/users', sampleOf.users('transcript@example.com'))
  const path = created.headers.get('location') ?? ''
  const headers = { 'if-match': tagOf(created) }
  const known = { headers: { 'if-none-match': tagOf(created) } }
  const requests: readonly (readonly [method: string, target: string, sent?: Sent])[] = [
    ['GET', path],
    ['GET', path, known],
    ['PATCH', path, { body: { age: 37 }, headers }],
    ['PATCH', path, { body: { age: 38 }, headers }],
    ['GET', '/v1/users?email=transcript@example.com&fields=name,age,email'],
    ['POST', '/v1/users', { body: sampleOf.users('transcript.other@example.com') }],
    ['GET', '/v1/users?limit=1'],
    ['POST', '/v1/users', { body: { name: 'Ada' } }],
    ['GET', '/v1/Users'],
    ['GET', '/v1/users/1'],
    ['DELETE', '/v1/users'],
    ['GET', path, { headers: { accept: 'text/html' } }],
    ['POST', '/v1/users', { body: 'hello', headers: { 'content-type': 'text/plain' } }],
    ['POST', '/v1/users', { body: { name: 'x'.repeat(2 ** 21) } }],
    ['DELETE', path],
    ...['/docs', '/openapi.json', '/'].map((page) => ['GET', page] as const),
  ]
  const answers = [created]
  for (const [method, target, sent] of requests) answers.push(await client.call(method, target, sent))
  const [, , , , , , other] = answers
  await client.delete(other?.headers.get('location') ?? '')
  return answers.map(seen)
}

interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Without what differs from one request to the next, and from one version of HTTP to the other. */
function seen({ status, headers, text }: Answer): Seen {
  const ofConnection = ['date', 'connection', 'keep-alive', 'strict-transport-security', 'transfer-encoding']
  const ofRequest = ['ratelimit', 'ratelimit-policy', 'etag', 'last-modified', 'location', 'content-length']
  const names = [...headers.keys()].filter((name) => ![...ofConnection, ...ofRequest].includes(name))
  const shown = names.map((name) => [name, stable(headers.get(name) ?? '')])
  return { status, headers: Object.fromEntries(shown.sort()), text: stable(text) }
}

function stable(text: string): string {
  return text
    .replace(/\d{16,}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/"instance":"[^"]*"/, '')
    .replace(/https?:\/\/127\.0\.0\.1:\d+/g, '<origin>')
}

function agentOf(t: Test, { cert }: Certificate, allowH2: boolean): Agent {
  const agent = new Agent({ allowH2, connect: { ca: cert } })
  t.teardown(() => agent.destroy())
  return agent
}

function sendWith(dispatcher: Agent): Fetch {
  return async (url, request) => {
    const response = await fetch(url, { ...request, dispatcher })
    return {
      status: response.status,
      headers: new Headers([...response.headers]),
      text: () => response.text(),
    }
  }
}

async function listenSecurely(t: Test, app: Awaited<ReturnType<typeof buildApp>>): Promise<string> {
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `https://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}
