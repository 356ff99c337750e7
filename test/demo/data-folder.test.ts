import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { lockFolder } from '../../examples/demo-server/data-folder.js'
import { openEmbeddedDatabase } from '../../examples/demo-server/database-embedded.js'
import { programArguments } from '../support/program.js'
import { serve } from './client.js'
import { newUser } from './samples.js'

t.test('one process at a time uses a data folder', async (t) => {
  const folder = join(t.testdir(), 'new', 'data')
  const unlock = await lockFolder(folder)
  await t.rejects(lockFolder(folder), /data folder .* is in use by process \d+/)
  await unlock()
  await (await lockFolder(folder))()
  t.strictSame(readdirSync(folder), [])
})

t.test('the lock of an ended process is ignored', async (t) => {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  for (const owner of [String(child.pid), '', 'nonsense', String(process.pid)]) {
    const folder = t.testdir({ lock: owner })
    await (await lockFolder(folder))()
    t.strictSame(readdirSync(folder), [], `'${owner}'`)
  }
})

t.test('the lock of a running process is respected', async (t) => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'lock'), String(process.ppid))
  await t.rejects(openEmbeddedDatabase(folder), /is in use/)
})

t.test('while one process takes over a folder, no other process does', async (t) => {
  const folder = t.testdir({ lock: '', 'lock.new': '' })
  await t.rejects(lockFolder(folder), /is being opened by another process; if it is not, delete .*lock\.new$/)
  t.strictSame(readdirSync(folder), ['lock', 'lock.new'])
  rmSync(join(folder, 'lock.new'))
  await (await lockFolder(folder))()
  t.strictSame(readdirSync(folder), [])
})

t.test('of processes that start together with a stale lock, one gets the folder', async (t) => {
  const racers = Array.from({ length: 3 }, () => startRacer(t))
  const gone = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(gone, 'exit')
  const base = t.testdir()
  for (let round = 0; round < 40; round += 1) {
    const folder = join(base, `round-${round}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'lock'), String(gone.pid))
    const outcomes = await Promise.all(racers.map((race) => race(folder)))
    t.strictSame(outcomes.toSorted(), ['locked', 'refused', 'refused'], `round ${round}`)
  }
})

t.test('the data of a folder is there after a restart', async (t) => {
  const folder = t.testdir()
  const first = await openEmbeddedDatabase(folder)
  const client = await serve(t, first)
  const user = await newUser(client, { name: 'Still here' })
  await client.app.close()
  await first.destroy()

  const second = await openEmbeddedDatabase(folder)
  t.teardown(() => second.destroy())
  const restarted = await serve(t, second)
  t.strictSame((await restarted.get(`/v1/users/${user.id}?fields=*`)).json, user)
  const next = await newUser(restarted)
  t.ok((next.id as bigint) > (user.id as bigint), 'ids go on')
})

/** A process that tries to lock the folders it is told. */
function startRacer(t: Test): (folder: string) => Promise<string> {
  const program = programArguments(new URL('lock-racer.ts', import.meta.url))
  const child = spawn(process.execPath, program, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const outcomes = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async function race(folder) {
    child.stdin.write(`${folder}\n`)
    return String((await outcomes.next()).value)
  }
}
