/** The demo over TLS: HTTP/2 and HTTP/1.1 at one port. */
import { join } from 'node:path'
import t from 'tap'
import { Agent, fetch } from 'undici'
import { readSettings } from '../../examples/demo-server/settings.js'
import { developmentCertificate, openCertificate } from '../../examples/demo-server/tls.js'
import { endChild } from '../support/child.js'
import { startDemo } from './run-demo.js'

t.test('the demo serves a certificate of its own, over HTTP/2 and HTTP/1.1', async (t) => {
  const dev = await startDemo(t, { HTTPS: 'dev', ISSUER_URL: '' })
  t.match(dev.origin, /^https:\/\/127\.0\.0\.1:\d+$/)
  const terms = `${dev.origin}/v1/terms`
  const untrusting = await fetch(terms).catch((error: Error) => error.cause)
  t.match(untrusting, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'nobody vouches for it')
  for (const allowH2 of [true, false]) {
    const dispatcher = new Agent({ allowH2, connect: { rejectUnauthorized: false } })
    t.teardown(() => dispatcher.close())
    const { status, headers } = await fetch(terms, { dispatcher })
    t.equal(status, 200)
    t.ok(headers.has('strict-transport-security'))
    t.equal(headers.has('connection'), !allowH2, 'HTTP/2 has no such field')
    const login = await fetch(`${dev.origin}/login`, { dispatcher, redirect: 'manual' })
    t.match(login.headers.get('location'), `${dev.origin}/oauth/authorize?`, 'over TLS')
    const cookies = login.headers.getSetCookie()
    t.ok(cookies.length > 0 && cookies.every((field) => /; secure/i.test(field)))
  }
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
