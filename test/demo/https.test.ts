/** The demo over TLS: HTTP/2 and HTTP/1.1 at one port. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, fetch } from 'undici'
import { firstId } from '../../examples/demo-server/migrations.js'
import { readSettings } from '../../examples/demo-server/settings.js'
import { developmentCertificate, openCertificate } from '../../examples/demo-server/tls.js'
import { endChild } from '../support/child.js'
import { startDemo } from './run-demo.js'

t.test(
  'the demo serves a certificate of its own, and browsers log in over HTTP/2 and HTTP/1.1',
  async (t) => {
    const dev = await startDemo(t, { HTTPS: 'dev', ISSUER_URL: '' })
    t.match(dev.origin, /^https:\/\/127\.0\.0\.1:\d+$/)
    const untrusting = await fetch(`${dev.origin}/v1/terms`).catch((error: Error) => error.cause)
    t.match(untrusting, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'nobody vouches for it')
    for (const allowH2 of [true, false]) await logsIn(t, dev.origin, allowH2)
    t.equal(await endChild(dev.process, 'SIGTERM'), 0, 'an open HTTP/2 session does not keep it')
  },
)

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
  t.ok(read.headers.has('strict-transport-security'))
  t.equal(read.headers.has('connection'), !allowH2, 'HTTP/2 has no such field')
}
