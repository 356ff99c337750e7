import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lockFolder } from '../../examples/demo-server/data-folder.js'
import { openEmbeddedDatabase } from '../../examples/demo-server/database-embedded.js'
import { serve } from './client.js'
import { newUser } from './samples.js'

t.test('a folder is one process’s at a time', async (t) => {
  const folder = join(t.testdir(), 'new', 'data')
  const unlock = await lockFolder(folder)
  await t.rejects(lockFolder(folder), /data folder .* is in use by process \d+/)
  await unlock()
  await (await lockFolder(folder))()
  t.strictSame(readdirSync(folder), [])
})

t.test('a lock whose process is gone does not count', async (t) => {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  for (const owner of [String(child.pid), '', 'nonsense', String(process.pid)]) {
    const folder = t.testdir({ lock: owner })
    await (await lockFolder(folder))()
    t.strictSame(readdirSync(folder), [], `'${owner}'`)
  }
})

t.test('a lock whose process runs does', async (t) => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'lock'), String(process.ppid))
  await t.rejects(openEmbeddedDatabase(folder), /is in use/)
})

t.test('what was stored in a folder is there after a restart', async (t) => {
  const folder = t.testdir()
  const first = await openEmbeddedDatabase(folder)
  const client = await serve(t, first)
  const user = await newUser(client, { name: 'Still here' })
  await client.app.close()
  await first.close()

  const second = await openEmbeddedDatabase(folder)
  t.teardown(() => second.close())
  const restarted = await serve(t, second)
  t.strictSame((await restarted.get(`/v1/users/${user.id}?fields=*`)).json, user)
  const next = await newUser(restarted)
  t.ok((next.id as bigint) > (user.id as bigint), 'ids go on')
})
