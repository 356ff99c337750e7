// Own process: it is slow
/** An app that has releases of the optional peers that are too old: npm refuses it, unless it is told otherwise. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/child.js'
import { manifestOf, pack } from './pack.js'

const others = { bullmq: '^5.0.0', 'pg-boss': '^9.0.0', jose: '^5.0.0', zod: '^3.25.0' }

t.test('npm refuses it beside older peers; if it is forced, the engine names what it needs', async (t) => {
  const work = await mkdtemp(join(tmpdir(), 'peers-'))
  t.teardown(() => rm(work, { recursive: true, force: true }))
  const dependencies = { ...others, fastify: manifestOf('fastify').version }
  await writeFile(join(work, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  const { path } = await pack(work)
  await t.rejects(runCommand('npm', ['install', ...flags, path], work), /ERESOLVE/)
  await runCommand('npm', ['install', '--legacy-peer-deps', ...flags, path], work)
  const program = `
    import Fastify from 'fastify'
    import conventions from 'fastify-conventions'
    import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
    await Fastify().register(conventions).ready()
    try {
      bullmqEngine({ redis: 'redis://127.0.0.1' })
    } catch (error) {
      console.log(error.message)
    }`
  const said = await runCommand(process.execPath, ['--input-type=module', '--eval', program], work)
  t.match(said, 'bullmqEngine needs bullmq 6.7; the app has installed')
})
