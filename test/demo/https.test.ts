/** The demo over TLS: the whole service over HTTP/2 and HTTP/1.1 at one port. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, fetch } from 'undici'
import { buildApp } from '../../examples/demo-server/app.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { readSettings } from '../../examples/demo-server/settings.js'
import { type Certificate, developmentCertificate, openCertificate } from '../../examples/demo-server/tls.js'
import { endChild } from '../support/child.js'
import { callerOf, type Fetch, serve, tagOf } from './client.js'
import { emptyDatabase } from './databases.js'
import { issuer } from './issuer.js'
import { startDemo } from './run-demo.js'
import { sampleOf } from './samples.js'

t.test('over TLS, at one port, HTTP/2 and HTTP/1.1 have the responses of HTTP without TLS', async (t) => {
  const database = await emptyDatabase(t)
  const plain = await serve(t, database)
  const { options: bearer } = await issuer()
  const certificate = await developmentCertificate('127.0.0.1')
  const app = await buildApp({ database, bearer, certificate, pace: 0.02 })
  t.teardown(() => app.close())
  const versions = new Set<string>()
  app.addHook('onRequest', async ({ raw }) => void versions.add(raw.httpVersion))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const secure = (allowH2: boolean) =>
    callerOf(`https://127.0.0.1:${port}`, { send: sendWith(agentOf(t, certificate, allowH2)) })
  for (const [index, client] of [plain, secure(true), secure(false)].entries()) {
    const email = `ada.${index}@example.com`
    const created = await client.post('/v1/users', sampleOf.users(email))
    const path = created.headers.get('location') ?? ''
    const failed = { ...sampleOf.orders(created.json.id), status: 'failed' }
    const order = (await client.post('/v1/orders', failed)).headers.get('location') ?? ''
    const tag = tagOf(created)
    for (const [method, target, sent, status] of [
      ['GET', path, { headers: { 'if-none-match': tag } }, 304],
      ['PATCH', path, { body: { age: 37 }, headers: { 'if-match': tag } }, 200],
      ['PATCH', path, { body: { age: 38 }, headers: { 'if-match': tag } }, 412],
      ['GET', `/v1/users?email=${email}&fields=name`, {}, 200],
      ['POST', '/v1/users', { body: { name: 'Ada' } }, 400],
      ['GET', '/v1/Users', {}, 404],
      ['DELETE', '/v1/users', {}, 405],
      ['GET', path, { headers: { accept: 'text/html' } }, 406],
      ['POST', '/v1/users', { body: { name: 'x'.repeat(2 ** 21) } }, 413],
      ['POST', '/v1/users', { body: 'hello', headers: { 'content-type': 'text/plain' } }, 415],
      ['POST', `${order}/retry`, { headers: { prefer: 'wait=10' } }, 200],
      ['GET', '/docs', {}, 200],
    ] as const) {
      const answer = await client.call(method, target, sent)
      t.equal(answer.status, status, `${method} ${target}`)
      t.equal(answer.headers.has('strict-transport-security'), client !== plain)
    }
  }
  t.strictSame([...versions], ['2.0', '1.1'])
})

t.test('the demo serves a certificate of its own, and browsers log in', async (t) => {
  const dev = await startDemo(t, { HTTPS: 'dev', ISSUER_URL: '' })
  t.match(dev.origin, /^https:\/\/127\.0\.0\.1:\d+$/)
  const untrusting = await fetch(`${dev.origin}/v1/terms`).catch((error: Error) => error.cause)
  t.match(untrusting, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'nobody vouches for it')
  for (const allowH2 of [true, false]) await logsIn(t, dev.origin, allowH2)
  t.equal(await endChild(dev.process, 'SIGTERM'), 0, 'an open HTTP/2 session does not keep it')
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
