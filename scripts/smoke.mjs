// Starts the demo with `npm start`, as a newcomer does, and sends requests that every server with this package must refuse:
// each response must be a problem document with the right status.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const host = '127.0.0.1'
// A guard against a hang. A busy machine takes half a minute.
const firstAnswerWithin = 120_000
const json = { 'content-type': 'application/json' }

const refusals = [
  { status: 401, method: 'GET', path: '/v1/users', headers: { authorization: '' }, what: 'without a token' },
  { status: 404, method: 'GET', path: '/v1/Users' },
  { status: 404, method: 'GET', path: '/v1/users/AbC' },
  { status: 404, method: 'GET', path: '/v1/%55sers' },
  { status: 400, method: 'GET', path: '/%zz' },
  { status: 404, method: 'GET', path: '/nope' },
  { status: 405, method: 'DELETE', path: '/v1/users' },
  { status: 400, method: 'POST', path: '/v1/users', headers: json, body: '{"name":', what: 'garbage' },
  {
    status: 413,
    method: 'POST',
    path: '/v1/users',
    headers: json,
    body: JSON.stringify({ name: 'x'.repeat(2 * 1024 * 1024) }),
    what: '2 MB',
  },
  {
    status: 415,
    method: 'POST',
    path: '/v1/users',
    headers: { 'content-type': 'text/plain' },
    body: 'hello',
    what: 'text/plain',
  },
]

// A client that sends `Connection: close` with a body that is too large may be cut off before it has read the response.
const agent = new Agent({ keepAlive: true })
const port = await freePort()
// A group of its own: npm, the shell and the server below it end together.
const server = spawn('npm', ['start'], {
  detached: true,
  stdio: ['ignore', 'pipe', 'pipe'],
  env: { ...process.env, HOST: host, PORT: String(port) },
})
const exited = once(server, 'exit')
let output = ''
for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += chunk))

try {
  const started = performance.now()
  await firstAnswer(started + firstAnswerWithin)
  console.log(`first answer after ${((performance.now() - started) / 1000).toFixed(1)} s`)
  const authorization = await authorizationOfAdmin()
  const wrong = (await Promise.all(refusals.map((refusal) => findFault(refusal, authorization)))).filter(
    (fault) => fault !== undefined,
  )
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
} catch (error) {
  console.error(`${output}\n${error.message}`)
  process.exitCode = 1
} finally {
  agent.destroy()
  await stop()
}

/** A token of the authorization server of the demo, as its README gets one. */
async function authorizationOfAdmin() {
  const { status, body } = await ask({
    method: 'POST',
    path: '/oauth/token',
    headers: {
      authorization: `Basic ${btoa('demo-admin:demo-admin-secret')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  })
  if (status !== 200) throw new Error(`no token: ${status} ${body}`)
  return `Bearer ${JSON.parse(body).access_token}`
}

async function findFault(refusal, authorization) {
  const asked = [refusal.method, refusal.path, refusal.what].filter(Boolean).join(' ')
  const { status, headers, body } = await ask({ ...refusal, headers: { authorization, ...refusal.headers } })
  const type = headers['content-type']
  console.log(`${status} ${type} <- ${asked}`)
  if (status !== refusal.status) return `${asked}: expected ${refusal.status}, received ${status}`
  if (type !== 'application/problem+json') return `${asked}: not a problem document but ${type}`
  const problem = JSON.parse(body)
  const isWhole = ['type', 'title', 'detail', 'code'].every((member) => typeof problem[member] === 'string')
  if (!isWhole || problem.status !== status) return `${asked}: not a whole problem document: ${body}`
  if (status === 405 && headers.allow === undefined) return `${asked}: no Allow`
}

async function firstAnswer(deadline) {
  while (true) {
    if (server.exitCode !== null) throw new Error(`npm start ended with ${server.exitCode}`)
    if (performance.now() > deadline) throw new Error(`no answer within ${firstAnswerWithin / 1000} s`)
    try {
      return await ask({ method: 'GET', path: '/' })
    } catch {
      await delay(50)
    }
  }
}

/** node:http and not fetch: the path has to go out byte for byte. */
function ask({ method, path, headers = {}, body = '' }) {
  return new Promise((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const options = {
      host,
      port,
      method,
      path,
      headers: { ...headers, ...length },
      agent,
      timeout: 10_000,
    }
    const sent = request(options, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode, headers: response.headers, body: text })
    })
    // After an early answer, as to a body that is too large, this changes nothing.
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer`)))
    sent.end(body)
  })
}

async function freePort() {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

async function stop() {
  if (server.exitCode === null && server.signalCode === null) process.kill(-server.pid, 'SIGTERM')
  const killer = setTimeout(() => process.kill(-server.pid, 'SIGKILL'), 10_000)
  await exited
  clearTimeout(killer)
}
