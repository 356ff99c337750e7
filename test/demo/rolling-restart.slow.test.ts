// Own process: it is slow
/** The topology of docker-compose.yml as processes, with its nginx.conf: each of them restarts while clients send requests. */
import { randomInt, randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Agent, fetch } from 'undici'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { type CacheProgram, nginxFolders, skipWithout, startProgram } from '../caches/cache-program.js'
import { endChild } from '../support/child.js'
import { postgresOf, skipWithoutPostgres } from '../support/postgres.js'
import { redisOf, skipWithoutRedis } from '../support/redis.js'
import { until } from '../support/until.js'
import { type Answer, type Caller, callerOf, tagOf } from './client.js'
import { query } from './databases.js'
import { type RunningDemo, startDemo, startWorker } from './run-demo.js'
import { sampleOf } from './samples.js'

const skip = (await skipWithoutRedis()) || (await skipWithoutPostgres()) || skipWithout(nginxBefore({}))
const roundsOfPhase = 5
const patience = 120_000
const pause = 30

t.test('each process restarts under load, and no request is lost', { skip, timeout: 400_000 }, async (t) => {
  const [postgres, redis] = await Promise.all([postgresOf(t), redisOf(t)])
  const shared = { DATABASE_URL: postgres.url, REDIS_URL: redis.url }
  const environment = { ...shared, RATE_LIMIT_MAX: '999999999', PACE: '0.2' }
  const ports = [await freePort(), await freePort()] as const
  const startWeb = (port: number) => startDemo(t, { ...environment, WORK: 'off', PORT: String(port) })
  const running = await Promise.all(ports.map(startWeb))
  let worker = await startWorker(t, environment)
  const addresses = { 'web-1:3000': `127.0.0.1:${ports[0]}`, 'web-2:3000': `127.0.0.1:${ports[1]}` }
  const { socket } = await startProgram(t, nginxBefore(addresses))

  const load = startLoad(t, socket)
  for (const [index, port] of ports.entries()) {
    await load.moreRounds()
    const stopped = endsWell(t, running[index] as RunningDemo, `web ${index}`)
    await load.moreRounds()
    await stopped
    await load.moreRounds()
    running[index] = await startWeb(port)
  }
  await load.moreRounds()
  await endsWell(t, worker, 'the worker')
  await load.moreRounds()
  worker = await startWorker(t, environment)
  await load.moreRounds()
  const { faults, orders } = await load.end()

  t.strictSame(faults, [])
  const database = await openServerDatabase(postgres.url)
  t.teardown(() => database.destroy())
  const text = "select items->0->>'sku' as sku from orders where items->0->>'sku' like 'rolling-%' order by 1"
  const made = (await query(database, text)).map(({ sku }) => sku)
  t.strictSame(made, [...orders].sort(), 'each POST made one order, and no other was made')
  for (const last of [...running, worker]) await endsWell(t, last, 'at the end')
})

async function endsWell(t: Test, { process: child, complaints }: RunningDemo, name: string): Promise<void> {
  t.equal(await endChild(child, 'SIGTERM'), 0, `${name} ends with exit code 0`)
  t.strictSame(complaints, [])
}

/** Clients that send one request after the other, each on one connection to nginx, which it keeps. */
function startLoad(t: Test, socketPath: string) {
  const faults: string[] = []
  const orders: string[] = []
  const rounds: number[] = []
  let isOver = false

  function newOrder() {
    const sku = `rolling-${randomUUID()}`
    orders.push(sku)
    const body = { ...sampleOf.orders(firstId), items: [{ sku, quantity: 1, unit_amount: 1 }] }
    return { body, headers: { 'idempotency-key': sku } }
  }

  async function keepBusy(round: (client: Caller) => Promise<void>): Promise<void> {
    const dispatcher = new Agent({ connections: 1, pipelining: 1, connect: { socketPath } })
    t.teardown(() => dispatcher.close())
    const client = callerOf('http://demo.test', {
      send: (url, request) => fetch(url, { ...request, dispatcher }),
    })
    const place = rounds.push(0) - 1
    while (!isOver) {
      await round(client).catch((error) => faults.push(`${error.stack} ${error.cause ?? ''}`))
      rounds[place] = (rounds[place] ?? 0) + 1
      // The processes that start need the processor too.
      await setTimeout(pause)
    }
  }

  const clients: readonly ((client: Caller) => Promise<void>)[] = [
    async (client) => {
      expectStatus(await client.get('/v1/orders?limit=5'), 200)
      expectStatus(await client.get(`/v1/orders/${firstId}`), 200)
    },
    async (client) => {
      let last = expectStatus(await client.call('POST', '/v1/orders', newOrder()), 201)
      const path = last.headers.get('location') ?? ''
      for (const total_amount of [1, 2]) {
        const headers = { 'if-match': tagOf(last) }
        last = expectStatus(await client.call('PATCH', path, { headers, body: { total_amount } }), 200)
      }
      const read = expectStatus(await client.get(path), 200)
      if (Number(read.json.total_amount) !== 2) throw new Error(`a change is lost: ${read.text}`)
    },
    async (client) => {
      const { body, headers: key } = newOrder()
      const headers = { ...key, prefer: 'respond-async' }
      const started = expectStatus(await client.call('POST', '/v1/orders', { body, headers }), 202)
      const poll = () => client.get(started.headers.get('location') ?? '')
      // An operation may be polled sixty times in a minute.
      const end = await until(poll, ({ status }) => status !== 200, patience, 500)
      expectStatus(end, 303)
      expectStatus(await client.get(end.headers.get('location') ?? ''), 200)
    },
  ]
  const ended = Promise.all(clients.flatMap((round) => [keepBusy(round), keepBusy(round)]))

  return {
    /** Waits until each client has done some more of its rounds. */
    async moreRounds() {
      const before = rounds.slice(0, 4)
      const isEnough = async () =>
        before.every((count, place) => (rounds[place] ?? 0) >= count + roundsOfPhase)
      await until(isEnough, (enough) => enough, patience)
    },
    /** Lets the rounds that have begun end. */
    async end() {
      isOver = true
      await ended
      return { faults, orders }
    },
  }
}

function expectStatus(answer: Answer, expected: number): Answer {
  if (answer.status === expected) return answer
  throw new Error(`expected ${expected}, received ${answer.status}: ${answer.text}`)
}

function nginxBefore(addresses: Readonly<Record<string, string>>): CacheProgram {
  return {
    program: 'nginx',
    debianPackage: 'nginx-light',
    async configure(folder, socket) {
      const changes = {
        ...addresses,
        // The clients here send no request to the issuer.
        'issuer:8080': '127.0.0.1:9',
        'listen 8080': `listen unix:${socket}`,
        'http {': `http { ${nginxFolders(folder)}`,
        'worker_processes auto': 'worker_processes 2',
      }
      let text = await readFile(new URL('../../examples/demo-server/nginx.conf', import.meta.url), 'utf8')
      for (const [from, to] of Object.entries(changes)) {
        if (text.split(from).length !== 2) throw new Error(`nginx.conf has not one '${from}'`)
        text = text.replace(from, to)
      }
      const path = join(folder, 'nginx.conf')
      await writeFile(path, text)
      const user = process.getuid?.() === 0 ? 'user root root;' : ''
      return ['-p', folder, '-e', 'stderr', '-c', path, '-g', `daemon off; pid ${folder}/pid; ${user}`]
    },
  }
}

/** A port below those that outgoing connections get, so that a process which restarts finds its own again. */
async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_000)
  const probe = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  return isFree ? port : freePort()
}
