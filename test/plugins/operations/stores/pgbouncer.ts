import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { endChild, findProgram } from '../../../support/child.js'
import type { PrivatePostgres } from '../../../support/postgres.js'

/** Why there can be no PgBouncer on this machine; `false` where there can. */
export async function obstacleToPgBouncer(): Promise<string | false> {
  if (process.getuid === undefined) return 'PgBouncer is reached over a Unix socket'
  return findPooler() === null ? 'there is no pgbouncer in PATH' : false
}

/** Starts PgBouncer in transaction mode in front of a server, with fewer connections than its clients have. */
export async function startPgBouncer({ url }: PrivatePostgres) {
  const program = findPooler()
  if (program === null) throw new Error('no pgbouncer')
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  // It may run as another user.
  await chmod(folder, 0o777)
  const port = randomInt(20_000, 32_000)
  const server = decodeURIComponent(new URL(url.replace('postgres:', 'http:').replace(/@[^/]*/, '')).pathname)
  const host = decodeURIComponent(/@([^/]*)/.exec(url)?.[1] ?? '')
  const config = `[databases]
postgres = host=${host} dbname=${server.slice(1)} user=postgres
[pgbouncer]
listen_addr =
listen_port = ${port}
unix_socket_dir = ${folder}
auth_type = any
pool_mode = transaction
default_pool_size = 3
`
  await writeFile(join(folder, 'pgbouncer.ini'), config, { mode: 0o644 })
  const asUser = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const stdio = ['ignore', 'ignore', 'pipe'] as const
  const pooler = spawn(program, [...asUser, join(folder, 'pgbouncer.ini')], { stdio: [...stdio] })
  // A test that is killed takes its pooler along.
  const kill = () => void pooler.kill('SIGKILL')
  process.once('exit', kill)
  const log: string[] = []
  let isUp = false
  for await (const line of createInterface({ input: pooler.stderr })) {
    log.push(line)
    isUp = line.includes('process up')
    if (isUp) break
  }
  if (!isUp) throw new Error(`PgBouncer did not start:\n${log.join('\n')}`)
  pooler.stderr.resume()
  return {
    url: `postgres://postgres@${encodeURIComponent(folder)}:${port}/postgres`,
    async stop() {
      await endChild(pooler)
      process.off('exit', kill)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const findPooler = () => findProgram(['pgbouncer'], ['/usr/sbin'])
