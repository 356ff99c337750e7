import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { endChild } from '../support/child.js'
import { obstacleToPostgres } from '../support/postgres.js'
import { programArguments } from '../support/program.js'
import { emptyServerUrl } from './databases.js'
import { issuer } from './issuer.js'

/** A demo that runs as a process of its own. */
export interface RunningDemo {
  /** `''` for a worker. */
  readonly origin: string
  readonly process: ChildProcess
  /** The lines it has printed so far. */
  readonly printed: readonly string[]
  /** What it has complained of so far. */
  readonly complaints: readonly string[]
}

export const variables: ReadonlySet<string> = new Set(
  `HOST PORT HTTPS TLS_CERT TLS_KEY LOG_LEVEL ISSUER_URL ISSUER_ADDRESS AUDIENCE CLIENT_ID SESSION_SECRET DATABASE_URL
  REDIS_URL OPERATIONS WORK PACE MAINTENANCE_FILE CORS_ORIGIN TRUST_PROXY RATE_LIMIT_MAX`.split(/\s+/),
)

/**
 * Starts the demo on a free port and waits until it listens; it ends with the test. It takes the tokens of the issuer of
 * the tests; with an empty `ISSUER_URL` those of its own. Its data are on a PostgreSQL server, if there is one: this takes
 * a third of the time. With an empty `DATABASE_URL` they are in its memory.
 */
export async function startDemo(t: Test, environment: Record<string, string> = {}): Promise<RunningDemo> {
  const isGiven = 'DATABASE_URL' in environment || (await obstacleToPostgres()) !== null
  const storage = isGiven ? {} : { DATABASE_URL: await emptyServerUrl() }
  return started(t, spawnDemo({ ...(await defaults()), PORT: '0', ...storage, ...environment }))
}

/** Starts a process that runs operations alone, and waits until it does; it ends with the test. */
export async function startWorker(t: Test, environment: Record<string, string>): Promise<RunningDemo> {
  return started(t, spawnDemo({ ...(await defaults()), ...environment }, 'worker'))
}

async function defaults(): Promise<Record<string, string>> {
  return { LOG_LEVEL: 'silent', ISSUER_URL: (await issuer()).options.issuer }
}

async function started(t: Test, child: ReturnType<typeof spawnDemo>): Promise<RunningDemo> {
  t.teardown(() => endChild(child))
  const printed: string[] = []
  const complaints: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (!isAboutRuntime(line)) complaints.push(line)
  })
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      printed.push(line)
      const origin = line.startsWith('The worker ') ? '' : /listens on (https?:\S+)\. /.exec(line)?.[1]
      if (origin !== undefined) resolve({ origin, process: child, printed, complaints })
    })
    child.once('close', () => reject(new Error(complaints.join('\n'))))
  })
}

/** Starts the demo, with these variables and no others of its own. */
export function spawnDemo(environment: Record<string, string>, program = 'main') {
  const inherited = Object.entries(process.env).filter(([name]) => !variables.has(name))
  const source = new URL(`../../examples/demo-server/${program}.ts`, import.meta.url)
  return spawn(process.execPath, programArguments(source), {
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** What a demo that must fail to start says; rejects where it does not fail as it should. */
export async function failureOf(child: ReturnType<typeof spawnDemo>): Promise<string> {
  child.stdout.resume()
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  if (code !== 1) throw new Error(`expected exit code 1, received ${code}: ${said}`)
  return said
    .trim()
    .split('\n')
    .filter((line) => !isAboutRuntime(line))
    .join('\n')
}

/** What oidc-provider says on Node.js 20 when it is loaded. */
const isAboutRuntime = (line: string) => line.startsWith('oidc-provider WARNING: Unsupported runtime')
