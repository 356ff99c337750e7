/** docker-compose.yml: what is in it exists in the demo. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { parse } from 'yaml'
import { closeTimeout } from '../../examples/demo-server/process.js'
import { isShared, readSettings } from '../../examples/demo-server/settings.js'
import { testIssuer } from '../../src/testing/index.js'
import { callerOf } from './client.js'
import { startDemo, variables } from './run-demo.js'

interface Service {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly command?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly stop_grace_period?: string
  readonly depends_on?: object
}

interface Composition {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: {
    readonly default: { readonly ipam: { readonly config: [{ readonly subnet: string }] } }
  }
}

const demoFile = (name: string) =>
  readFile(new URL(`../../examples/demo-server/${name}`, import.meta.url), 'utf8')
const text = (await demoFile('docker-compose.yml')).replace(/\$\{\w+:-([^}]*)\}/g, '$1')
const { services, networks }: Composition = parse(text, { merge: true })
const ofDemo = Object.entries(services).filter(([, { image }]) => image === 'fastify-conventions-demo')

t.test('two instances, a worker, an issuer, and what they need', async (t) => {
  t.strictSame(Object.keys(services), ['web-1', 'web-2', 'worker', 'issuer', 'nginx', 'postgres', 'redis'])
  t.equal(ofDemo.length, 4)
  for (const [name, { depends_on = {} }] of Object.entries(services)) {
    for (const needed of Object.keys(depends_on)) t.ok(services[needed]?.healthcheck, `${name}: ${needed}`)
  }
})

t.test('the settings are those of the demo', async (t) => {
  for (const [name, { environment = {}, command = ['main'] }] of ofDemo) {
    for (const variable of Object.keys(environment))
      t.ok(variable === 'NODE_ENV' || variables.has(variable), `${name}: ${variable}`)
    const settings = readSettings(environment)
    t.ok(isShared(settings.operations, settings.databaseUrl), `${name} shares what it does`)
    t.equal(settings.work, command[0] === 'worker', name)
  }
  const [one, other] = [services['web-1'], services['web-2']]
  t.strictSame(one?.environment, other?.environment)
  t.equal(one?.environment?.TRUST_PROXY, networks.default.ipam.config[0].subnet)
})

t.test('an instance has the time to end, and nginx its name', async (t) => {
  const configuration = await demoFile('nginx.conf')
  for (const [name, { environment = {}, healthcheck, stop_grace_period }] of ofDemo) {
    t.ok(Number.parseInt(stop_grace_period ?? '', 10) * 1000 > closeTimeout, name)
    if (name === 'worker') continue
    t.match(healthcheck?.test.join(' '), '/health')
    t.match(configuration, `server ${name}:${environment.PORT}`)
  }
})

t.test('instances reach the issuer at another address than browsers', async (t) => {
  const issuer = 'http://127.0.0.1:9'
  const { options, token } = await testIssuer({ issuer, audience: `${issuer}/v1` })
  const metadata = { issuer, jwks_uri: `${issuer}/jwks`, authorization_endpoint: `${issuer}/authorize` }
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(url === '/jwks' ? options.jwks : metadata))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const ISSUER_ADDRESS = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { origin } = await startDemo(t, { ISSUER_URL: issuer, ISSUER_ADDRESS, CLIENT_ID: 'app' })
  const client = callerOf(origin, { token: token({ subject: 'admin', scopes: ['users:read', 'admin'] }) })
  t.match(await client.get('/v1/users?limit=1'), { status: 200 })
  t.match((await client.get('/login')).headers.get('location'), `${issuer}/authorize?`)
})
