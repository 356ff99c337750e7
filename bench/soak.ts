/**
 * Servers with all conventions under mixed load for some minutes, while processes are killed and servers freeze. Ends with
 * exit code 1 if an operation or payment was lost, a request failed for good, or memory grew.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Pool } from 'pg'
import { postgresIdempotency } from '../src/stores/postgres.js'
import { pay } from '../test/plugins/idempotency/faults/payments.js'
import { startWork, stateOf } from '../test/plugins/operations/faults/fleet.js'
import { obstacleToPostgres, startPostgres } from '../test/support/postgres.js'
import { endProgram } from '../test/support/program.js'
import { obstacleToRedis, startRedis } from '../test/support/redis.js'
import type { SoakMemberSetUp } from './fixtures/soak-member.js'
import { isKept, type SuiteReport, suiteReport, textReport } from './report.js'
import { writePage, writeResult } from './results.js'
import type { MemoryReading } from './scenario.js'

interface Member {
  readonly process: ChildProcess
  readonly origin: string
  readonly port: number
}

const clients = 12
const secondsBetweenFaults = 10
const entry = fileURLToPath(new URL('./fixtures/soak-member.ts', import.meta.url))
// Far longer than any fault: a request that fails so long is lost.
const patienceMs = 60_000

const minutes = minutesOrExit()
const obstacle = (await obstacleToRedis()) ?? (await obstacleToPostgres())
if (obstacle !== null) {
  console.error(`soak: not run, since ${obstacle}`)
  process.exit(2)
}
const [redis, postgres] = await Promise.all([startRedis({ persistent: true }), startPostgres()])
const pool = new Pool({ connectionString: postgres.url })
pool.on('error', () => {})
await pool.query('CREATE TABLE payments (id bigserial PRIMARY KEY, key text NOT NULL)')
await pool.query('CREATE TABLE works (operation text PRIMARY KEY)')
await postgresIdempotency(pool).migrate()

const counts = { requests: 0, retries: 0, payments: 0, operations: 0, faults: 0 }
const failures: string[] = []
const operations: string[] = []
const members: Member[] = []
const start = async (role: SoakMemberSetUp['role'], port = 0) => {
  const member = await startMember({ role, redis: redis.url, postgres: postgres.url, port })
  members.push(member)
  return member
}
// The steady one is never killed: its memory is read.
const steady = await start('web')
let web = await start('web')
let worker = await start('worker')
await start('worker')

const until = Date.now() + minutes * 60_000
const isOver = () => Date.now() >= until

/** What happens in turn; each is over, or healed, when its promise is fulfilled. */
const faults: Readonly<Record<string, () => Promise<unknown>>> = {
  'a server is killed': async () => {
    await endProgram(web.process)
    web = await start('web', web.port)
  },
  'a worker is killed': async () => {
    await endProgram(worker.process)
    worker = await start('worker')
  },
  'Redis is killed': () => redis.restart('SIGKILL'),
  'the connections to PostgreSQL end': () =>
    pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    ),
  'Redis freezes for three seconds': async () => {
    redis.pause()
    await pause(3_000)
    redis.resume()
  },
}

const first = readSteadyAfter(Math.max(10_000, minutes * 6_000))
await Promise.all([...Array.from({ length: clients }, (_, index) => client(index)), breakThings(), first])
await checkEffects()
const report = reportOf(await first, await readSteady())
console.log(textReport(report))
for (const [fact, value] of Object.entries(report.facts)) console.log(`  ${fact}: ${value}`)
for (const failure of failures.slice(0, 20)) console.error(`  ${failure}`)
await writeResult(report)
await writePage()

const hasGrown = !report.rows.every(({ bounds }) => bounds.every(isKept))
const isGood = failures.length === 0 && !hasGrown
console.log(
  isGood ? 'Nothing was lost.' : `Failed: ${failures.length} failures${hasGrown ? ', memory grew' : ''}.`,
)
for (const { process: child } of members) await endProgram(child)
await pool.end()
await Promise.all([redis.stop(), postgres.stop()])
process.exit(isGood ? 0 : 1)

/** Sends requests of all kinds, one after the other. */
async function client(number: number): Promise<void> {
  const headers = { 'x-forwarded-for': `10.0.0.${number}` }
  for (let turn = number; !isOver(); turn += 1) {
    const members = turn % 2 === 0 ? [steady, web] : [web, steady]
    const get = (path: string, status: number, more: Record<string, string> = {}) =>
      attempt(`GET ${path}`, async (tries) => {
        const { origin } = members[tries % 2] as Member
        const response = await fetch(`${origin}${path}`, {
          headers: { ...headers, ...more },
          signal: AbortSignal.timeout(15_000),
        })
        await response.arrayBuffer()
        return response.status === 503 ? null : expectStatus(response.status, status)
      })
    await get(`/v1/users/${turn}`, 200)
    await get('/v1/users?limit=5&fields=id,name', 200)
    await get(`/v1/users/${turn}`, 304, { 'if-none-match': '"v7"' })
    await get(`/v1/nothings/${turn}`, 404)
    await get(`/v1/users?limit=${turn}x`, 400)
    if (turn % 4 === 0) {
      const paid = await attempt('POST /v1/payments', () =>
        pay(() => ({ at: (members[0] as Member).origin }), randomUUID()),
      )
      counts.payments += 1
      counts.retries += (paid?.attempts ?? 1) - 1
    }
    if (turn % 16 === 0) await work(members, turn)
  }
}

/** Starts an operation and polls it to its end. */
async function work(members: readonly Member[], turn: number): Promise<void> {
  const path = await attempt('POST /v1/works', (tries) => startWork(members[tries % 2] as Member, 200))
  if (path === null) return
  counts.operations += 1
  operations.push(path.split('/').at(-1) ?? '')
  const end = await attempt(`a poll of ${path}`, async (tries) => {
    const state = await stateOf(members[(turn + tries) % 2] as Member, path)
    return state?.status === 'In progress' ? null : state
  })
  if (end !== null && end.status !== 'Succeeded') failures.push(`${path} is ${JSON.stringify(end)}`)
}

/** Tries again after errors of the connection, and where there is no result yet; null where that takes too long. */
async function attempt<Result>(
  name: string,
  send: (tries: number) => Promise<Result | null>,
): Promise<Result | null> {
  const deadline = Date.now() + patienceMs
  for (let tries = 0; Date.now() < deadline; tries += 1) {
    counts.requests += 1
    if (tries > 0) counts.retries += 1
    try {
      const result = await send(tries)
      if (result !== null) return result
    } catch (error) {
      if (!isOfConnection(error)) {
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
        return null
      }
    }
    await pause(100)
  }
  failures.push(`${name}: no result in ${patienceMs / 1_000} seconds`)
  return null
}

function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'TimeoutError' || ['fetch failed', 'terminated'].includes(error.message)
}

function expectStatus(status: number, expected: number): number {
  if (status !== expected) throw new Error(`expected ${expected}, got ${status}`)
  return status
}

async function breakThings(): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    await pause(secondsBetweenFaults * 1_000)
    // The last ones to start have time to heal.
    if (Date.now() + secondsBetweenFaults * 500 >= until) return
    const [name = '', fault] = Object.entries(faults)[turn % Object.keys(faults).length] ?? []
    console.log(`${new Date().toISOString()} ${name}`)
    await fault?.()
    counts.faults += 1
  }
}

/** Every payment was made once, and every operation took effect. */
async function checkEffects(): Promise<void> {
  const payments = await pool.query(
    'SELECT count(*)::int AS made, count(DISTINCT key)::int AS keys FROM payments',
  )
  const { made, keys } = payments.rows[0]
  if (made !== keys) failures.push(`${made - keys} payments were made twice`)
  if (keys !== counts.payments) failures.push(`${counts.payments} payments were answered, ${keys} were made`)
  const { rows } = await pool.query('SELECT count(*)::int AS done FROM works WHERE operation = ANY ($1)', [
    operations,
  ])
  const lost = operations.length - rows[0].done
  if (lost > 0) failures.push(`${lost} operations took no effect`)
}

async function startMember(setUp: SoakMemberSetUp): Promise<Member> {
  const child = fork(entry, [JSON.stringify(setUp)])
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const [address] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`a ${setUp.role} ended before it was ready`))),
  ])
  const { port } = address as { port: number }
  return { process: child, port, origin: `http://127.0.0.1:${port}` }
}

async function readSteadyAfter(milliseconds: number): Promise<MemoryReading> {
  await pause(milliseconds)
  return readSteady()
}

async function readSteady(): Promise<MemoryReading> {
  steady.process.send('memory')
  const [reading] = await once(steady.process, 'message')
  return reading as MemoryReading
}

function reportOf(start: MemoryReading, end: MemoryReading): SuiteReport {
  const megabytes = (bytes: number) => [bytes / 1_000_000]
  const samples = {
    heapFirst: megabytes(start.heap),
    heapLast: megabytes(end.heap),
    rssFirst: megabytes(start.rss),
    rssLast: megabytes(end.rss),
  }
  const scenario = {
    kind: 'memory',
    title: `memory of a server in a soak with faults`,
    baseline: 'heapFirst',
    bounds: { heapLast: { max: 1.1 }, rssLast: { max: 1.25, to: 'rssFirst' } },
    variants: {
      heapFirst: { about: 'heap and buffers after a tenth of the time' },
      heapLast: { about: 'heap and buffers at the end' },
      rssFirst: { about: 'resident set after a tenth of the time' },
      rssLast: { about: 'resident set at the end' },
    },
  } as const
  return suiteReport('soak', scenario, samples, {
    Date: new Date().toISOString().slice(0, 10),
    'Node.js': process.versions.node,
    Minutes: minutes,
    Faults: counts.faults,
    Requests: counts.requests,
    'Requests that were tried again': counts.retries,
    Payments: counts.payments,
    Operations: counts.operations,
    Failures: failures.length,
  })
}

function minutesOrExit(): number {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
  const minutes = Number(values.minutes)
  if (minutes > 0 && minutes <= 1_440) return minutes
  console.error(`--minutes: expected a number up to 1440, received '${values.minutes}'`)
  process.exit(2)
}
