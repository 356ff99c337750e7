import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { endChild, findProgram } from '../support/child.js'
import { until } from '../support/until.js'

/** A program that caches, as it is to be started. */
export interface CacheProgram {
  /** What the program is called, and what the Debian package that has it. */
  readonly program: string
  readonly debianPackage: string
  /**
   * Writes its configuration.
   *
   * @param folder an empty folder, its own
   * @param socket the Unix socket that it is to listen on
   * @returns the arguments that let it run in the foreground
   */
  configure(folder: string, socket: string): Promise<readonly string[]>
}

// Debian installs servers where only root looks for programs.
const serverFolders = ['/usr/sbin', '/usr/local/sbin']

/**
 * Is the program not there? Then its tests are skipped with these words, but where `CI` is set they fail when it is to
 * be started.
 */
export function skipWithout({ program, debianPackage }: CacheProgram): string | false {
  if (findProgram([program], serverFolders) !== null || process.env.CI) return false
  return `there is no ${program} (Debian: apt-get install ${debianPackage})`
}

/** Directives of nginx by which it keeps all that it writes in a folder. */
export function nginxFolders(folder: string): string {
  return ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
}

/** Starts the program and waits until it listens on the socket; it ends, and the folder with all that it keeps goes, with the test. */
export async function startProgram(t: Test, cacheProgram: CacheProgram) {
  const { program, debianPackage } = cacheProgram
  const path = findProgram([program], serverFolders)
  if (path === null) throw new Error(`there is no ${program}: install the Debian package ${debianPackage}`)
  const folder = await mkdtemp(join(tmpdir(), `${program}-`))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const socket = join(folder, 'socket')
  const args = await cacheProgram.configure(folder, socket)
  const child = spawn(path, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  // A test that is killed takes its cache along.
  process.once('exit', () => child.kill('SIGTERM'))
  t.teardown(() => endChild(child, 'SIGTERM'))
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => output.push(String(text)))
  const isUp = async () => {
    if (child.exitCode !== null) throw new Error(`${program} did not start: ${output.join('')}`)
    return new Promise<boolean>((resolve) => {
      const connection = connect(socket, () => resolve(true))
      connection.once('connect', () => connection.destroy())
      connection.once('error', () => resolve(false))
    })
  }
  await until(isUp, (isUp) => isUp)
  return { socket }
}
