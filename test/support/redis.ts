import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { Redis, type RedisOptions } from 'ioredis'
import type { Test } from 'tap'
import { endChild, findProgram, untilReady } from './child.js'

/** A Redis server of one test alone. */
export type PrivateRedis = Awaited<ReturnType<typeof startRedis>>

/** How {@link startRedis} sets the server up. */
interface RedisSetup {
  /** Is all that it has acknowledged on disk, so that a restart loses nothing? Otherwise nothing outlives a restart. */
  readonly persistent?: boolean
  /** Is it a cluster of one node? It has no slots before a client adds them. */
  readonly cluster?: boolean
}

/** Why there can be no private server on this machine; `null` where there can. */
export async function obstacleToRedis(): Promise<string | null> {
  return findProgram(['redis-server']) === null ? 'there is no redis-server in PATH' : null
}

/** Why tests that need Redis are skipped; `false` if they run. In CI they fail without it. */
export async function skipWithoutRedis(): Promise<string | false> {
  return (!process.env.CI && (await obstacleToRedis())) || false
}

/** {@link startRedis}, for a test: the server ends with it. */
export async function redisOf(t: Test, setup?: RedisSetup): Promise<PrivateRedis> {
  const redis = await startRedis(setup)
  t.teardown(() => redis.stop())
  return redis
}

/** Returns a client that ends with the test. */
export function redisClient(t: Test, url: string, options: Omit<RedisOptions, 'replyMapping'> = {}): Redis {
  const client = new Redis(url, options)
  client.on('error', () => {})
  t.teardown(() => client.disconnect())
  return client
}

/** Starts an empty server in a temporary folder. */
export async function startRedis({ persistent = false, cluster = false }: RedisSetup = {}) {
  const program = findProgram(['redis-server'])
  if (program === null) throw new Error((await obstacleToRedis()) ?? 'no Redis')

  const folder = await mkdtemp(join(tmpdir(), 'redis-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const settings = {
    ...{ bind: '127.0.0.1', dir: folder, save: '', daemonize: 'no' },
    ...(persistent ? { appendonly: 'yes', appendfsync: 'always' } : { appendonly: 'no' }),
    ...(cluster && { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' }),
  }
  const start = (port: number) => startServer(program, folder, { ...settings, port: String(port) })
  const started = await onFreePort(start).catch(async (error) => {
    await remove()
    throw error
  })
  const { port } = started
  let { server } = started
  return {
    /** Where to connect: a port on loopback that is its own, also after a restart. */
    url: `redis://127.0.0.1:${port}`,
    port,
    /** Ends the server and removes its data. */
    async stop() {
      await endChild(server)
      await remove()
    },
    /** Ends the server at once; its data and its port are kept for `restart`. */
    kill: async () => void (await endChild(server)),
    /** Ends the server where it runs, and starts it with the same port and the same data. */
    async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') {
      await endChild(server, signal)
      server = await start(port)
    },
    /** Freezes it: connections stay open, and nothing is answered. What clients send meanwhile is read afterwards. */
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
  }
}

/** Below the ports that outgoing connections get, so that a stopped server finds its own again. */
const [lowestPort, highestPort] = [20_000, 32_000]

/**
 * Ends the server with the process of the test, also where that is killed and can end nothing itself: then the pipe that
 * is file 3 ends without a line.
 */
const withThisProcess = '(read -r _ <&3 || kill -KILL $$) >/dev/null 2>&1 & exec "$0" "$@" 3<&-'

async function onFreePort<Server>(start: (port: number) => Promise<Server>) {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(lowestPort, highestPort)
    try {
      return { port, server: await start(port) }
    } catch (error) {
      if (!String(error).includes('Address already in use') || attempt === 20) throw error
    }
  }
}

async function startServer(program: string, folder: string, settings: Readonly<Record<string, string>>) {
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const server = spawn('sh', ['-c', withThisProcess, program, ...options], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  })
  const lifeline = server.stdio[3] as Writable
  server.once('exit', () => lifeline.end('over\n'))
  lifeline.on('error', () => {})
  await untilReady(server.stdout as Readable, 'Ready to accept connections')
  return server
}
