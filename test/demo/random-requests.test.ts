import { connect } from 'node:net'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { seed } from '../../examples/demo-server/seed.js'
import { isThorough } from '../support/thorough.js'
import { type Client, serve, walk } from './client.js'
import { collections } from './collections.js'
import { onDatabase } from './each-database.js'
import { faultyTwin, parseExact } from './exact-json.js'
import { adminToken } from './issuer.js'
import { randomMethod, randomTarget, randomWrite } from './random-inputs.js'

/** What is checked of an answer, however it came. */
interface Seen {
  readonly status: number
  readonly type: string
  readonly body: string
}

const injected = isThorough ? 10_000 : 1_000
const overSockets = isThorough ? 500 : 200

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database)

  await t.test(`${injected} random paths, injected`, async (t) => {
    const request = fc.record({ method: randomMethod, target: randomTarget })
    await hold(t, injected, request, ({ method, target }) =>
      inject(client, { method, url: `http://localhost${target}` }),
    )
  })

  await t.test(`${injected} random bodies, injected`, async (t) => {
    await hold(t, injected, randomWrite, ({ method, path, type, body }) =>
      inject(client, { method, url: path, headers: { 'content-type': type }, payload: body }),
    )
  })

  await t.test(`${overSockets} random request targets, byte by byte over sockets`, async (t) => {
    const anyText = fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.replace(/[\r\n]/g, ''))
    await hold(t, overSockets, fc.oneof(randomTarget, anyText), (target) => sendRaw(client, target))
  })

  await t.test(`${overSockets} random bodies over sockets`, async (t) => {
    await hold(t, overSockets, randomWrite, async ({ method, path, type, body }) => {
      const answer = await client.call(method, path, { body, headers: { 'content-type': type } })
      return { status: answer.status, type: String(answer.headers.get('content-type')), body: answer.text }
    })
  })

  await t.test('after these requests, all lists can be read to the end', async (t) => {
    for (const { name } of collections) {
      const pages = await walk(client, `/v1/${name}?limit=200`)
      t.ok(
        pages.every(({ status }) => status === 200),
        name,
      )
    }
  })
})

/** Sends `count` random requests; each is answered, and answered well. */
async function hold<T>(
  t: Test,
  count: number,
  requests: fc.Arbitrary<T>,
  send: (request: T) => Promise<Seen>,
) {
  const statuses = new Map<number, number>()
  const property = fc.asyncProperty(requests, async (request) => {
    const seen = await send(request)
    statuses.set(seen.status, (statuses.get(seen.status) ?? 0) + 1)
    const fault = faultOf(seen)
    if (fault !== null) throw new Error(`${fault}: ${seen.status} ${seen.type} ${seen.body.slice(0, 300)}`)
  })
  const outcome = await fc.check(property, { numRuns: count })
  t.notOk(outcome.failed, fc.defaultReportMessage(outcome) ?? 'all are answered well')
  const summary = [...statuses].sort().map(([status, times]) => `${times} × ${status}`)
  t.comment(summary.join(', '))
  t.ok(statuses.has(400), 'the requests are as random as they should be')
}

function faultOf({ status, type, body }: Seen): string | null {
  if (status >= 500) return 'a fault of the server'
  if (status < 400) {
    if (type.startsWith('application/json') && body !== '') {
      return faultyTwin(parseExact(body)) === null ? null : 'an integer without a true twin'
    }
    // Two pages are for people: the description of the API, and the playground.
    const isPage = body === '' || /swagger-ui|<title>Playground /.test(body)
    return type.startsWith('text/html') && !isPage ? 'HTML' : null
  }
  if (!type.startsWith('application/problem+json')) return 'no problem document'
  // HEAD has none.
  if (body === '') return null
  const document = JSON.parse(body) as { status?: unknown; code?: unknown; detail?: unknown }
  const isProblem = document.status === status && /^[a-z]+(-[a-z]+)*$/.test(String(document.code))
  return isProblem && typeof document.detail === 'string' ? null : 'a bad problem document'
}

async function inject(
  client: Client,
  request: { method: string } & Omit<InjectOptions, 'method'>,
): Promise<Seen> {
  const authorization = `Bearer ${await adminToken()}`
  const sent = { ...request, headers: { authorization, ...request.headers } }
  const { statusCode, headers, body } = await client.app.inject(sent as InjectOptions)
  return { status: statusCode, type: String(headers['content-type']), body }
}

async function sendRaw(client: Client, target: string): Promise<Seen> {
  const token = await adminToken()
  const { hostname, port } = new URL(client.origin)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname)
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('end', () => resolve(parsed(Buffer.concat(chunks).toString())))
    socket.write(
      `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    )
  })
}

function parsed(answer: string): Seen {
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? Number.NaN),
    type: /^content-type: (.*)$/im.exec(head)?.[1] ?? '',
    body: rest.join('\r\n\r\n'),
  }
}
