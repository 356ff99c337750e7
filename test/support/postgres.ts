import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { chown, mkdtemp } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Pool, type PoolConfig } from 'pg'
import type { Test } from 'tap'
import { endChild, untilReady } from './child.js'

/** A PostgreSQL server of one test alone. */
export type PrivatePostgres = Awaited<ReturnType<typeof startPostgres>>

/** Whose rights the server runs with. */
type Account = Pick<SpawnOptions, 'uid' | 'gid'>

const execute = promisify(execFile)

// Nothing of it has to survive a crash.
const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'listen_addresses=']

/** Why there can be no private server on this machine; `null` where there can. */
export async function obstacleToPostgres(): Promise<string | null> {
  if (process.platform === 'win32') return 'the private PostgreSQL is reached over a Unix socket'
  if (findBinaries() === null)
    return 'there is no PostgreSQL: no initdb in PATH, nor below /usr/lib/postgresql'
  if ((await account()) === null) return 'PostgreSQL refuses to run as root, and there is no user postgres'
  return null
}

/** Why tests that need PostgreSQL are skipped; `false` if they run. In CI they fail without it. */
export async function skipWithoutPostgres(): Promise<string | false> {
  return (!process.env.CI && (await obstacleToPostgres())) || false
}

/** {@link startPostgres}, for a test: the server ends with it. */
export async function postgresOf(t: Test): Promise<PrivatePostgres> {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  return postgres
}

/** Returns a pool of connections that ends with the test. */
export function poolOf(t: Test, connectionString: string, config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString, ...config })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  return pool
}

/** Starts a server with an empty database in a temporary folder. */
export async function startPostgres() {
  const binaries = findBinaries()
  const runAs = await account()
  if (binaries === null || runAs === null) throw new Error((await obstacleToPostgres()) ?? 'no PostgreSQL')

  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(folder, runAs.uid, runAs.gid)
    const data = join(folder, 'data')
    const initialize = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '-N']
    await execute(join(binaries, 'initdb'), initialize, { ...runAs, cwd: folder })
    const start = () => startServer(binaries, data, folder, runAs)
    let server = await start()
    return {
      /** Where to connect: a socket in a folder that only this test knows. */
      url: `postgres://postgres@${encodeURIComponent(folder)}/postgres`,
      /** Ends the server and removes its data. */
      async stop() {
        await endChild(server, 'SIGINT')
        remove()
      },
      /** Ends the server with all connections, and starts it with the same data after a second. */
      async restart() {
        await endChild(server, 'SIGINT')
        await pause(1_000)
        server = await start()
      },
      /** Lets this process end while the server runs; the server ends with it. */
      unref() {
        server.unref()
        // A pipe of a child process is a socket.
        ;(server.stderr as unknown as Socket).unref()
        process.once('exit', remove)
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

async function startServer(binaries: string, data: string, socketFolder: string, runAs: Account) {
  const all = [...settings, `unix_socket_directories=${socketFolder}`]
  const options = all.flatMap((setting) => ['-c', setting])
  const server = spawn(join(binaries, 'postgres'), ['-D', data, ...options], {
    ...runAs,
    cwd: socketFolder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // A test that is killed takes its server along.
  process.once('exit', () => server.kill('SIGQUIT'))
  await untilReady(server.stderr, 'ready to accept connections')
  return server
}

/** The folder of the PostgreSQL programs; of several versions the newest. */
function findBinaries(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((one, other) => Number(other) - Number(one)) : []
  const installed = versions.map((version) => join(root, version, 'bin'))
  const hasPrograms = (folder: string) =>
    ['initdb', 'postgres'].every((program) => existsSync(join(folder, program)))
  return [...(process.env.PATH ?? '').split(delimiter), ...installed].find(hasPrograms) ?? null
}

/** PostgreSQL does not run as root. */
async function account(): Promise<Account | null> {
  if (process.getuid?.() !== 0) return {}
  try {
    const idOf = async (flag: string) => Number((await execute('id', [flag, 'postgres'])).stdout)
    return { uid: await idOf('-u'), gid: await idOf('-g') }
  } catch {
    return null
  }
}
