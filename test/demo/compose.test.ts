/** docker-compose.yml: what is in it exists in the demo. */
import { readFile } from 'node:fs/promises'
import Fastify from 'fastify'
import t from 'tap'
import { parse } from 'yaml'
import { closeTimeout } from '../../examples/demo-server/process.js'
import { isShared, readSettings } from '../../examples/demo-server/settings.js'
import { testIssuer } from '../../src/testing/index.js'
import { serve } from '../support/serve.js'
import { callerOf } from './client.js'
import { startDemo, variables } from './run-demo.js'

type Service = { image: string; environment?: Record<string, string>; depends_on?: object }

const demoFile = (name: string) =>
  readFile(new URL(`../../examples/demo-server/${name}`, import.meta.url), 'utf8')
const text = (await demoFile('docker-compose.yml')).replace(/\$\{\w+:-([^}]*)\}/g, '$1')
const { services, networks } = parse(text, { merge: true })
const all = Object.entries<Service & Record<string, unknown>>(services)
const ofDemo = all.filter(([, { image }]) => image === 'fastify-conventions-demo')

t.test('two instances, a worker, an issuer, and what they need', async (t) => {
  t.strictSame(Object.keys(services), ['web-1', 'web-2', 'worker', 'issuer', 'nginx', 'postgres', 'redis'])
  t.equal(ofDemo.length, 4)
  for (const [name, { depends_on = {} }] of all)
    for (const needed of Object.keys(depends_on)) t.ok(services[needed].healthcheck, `${name}: ${needed}`)
})

t.test('the settings are those of the demo; an instance has time to end, and nginx its name', async (t) => {
  const configuration = await demoFile('nginx.conf')
  for (const [name, { environment = {}, command, healthcheck, stop_grace_period }] of ofDemo) {
    for (const variable of Object.keys(environment))
      t.ok(variable === 'NODE_ENV' || variables.has(variable), `${name}: ${variable}`)
    const settings = readSettings(environment)
    t.ok(isShared(settings.operations, settings.databaseUrl), `${name} shares what it does`)
    t.equal(settings.work, String(command) === 'worker', name)
    t.ok(Number.parseInt(String(stop_grace_period), 10) * 1000 > closeTimeout, name)
    if (name === 'worker') continue
    t.match(JSON.stringify(healthcheck), '/health')
    t.match(configuration, `server ${name}:${environment.PORT}`)
  }
  t.strictSame(services['web-1'].environment, services['web-2'].environment)
  t.equal(services['web-1'].environment.TRUST_PROXY, networks.default.ipam.config[0].subnet)
})

t.test('instances reach the issuer at another address than browsers', async (t) => {
  const issuer = 'http://127.0.0.1:9'
  const { options, token } = await testIssuer({ issuer, audience: `${issuer}/v1` })
  const metadata = { issuer, jwks_uri: `${issuer}/jwks`, authorization_endpoint: `${issuer}/authorize` }
  const app = Fastify()
  app.get('/*', async ({ url }) => (url === '/jwks' ? options.jwks : metadata))
  const { origin: ISSUER_ADDRESS } = await serve(t, app)
  const { origin } = await startDemo(t, { ISSUER_URL: issuer, ISSUER_ADDRESS, CLIENT_ID: 'app' })
  const client = callerOf(origin, { token: token({ subject: 'admin', scopes: ['users:read', 'admin'] }) })
  t.match(await client.get('/v1/users?limit=1'), { status: 200 })
  t.match((await client.get('/login')).headers.get('location'), `${issuer}/authorize?`)
})
