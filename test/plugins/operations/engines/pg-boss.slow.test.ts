// Own process: replaces a package
/** The tests of the engine on pg-boss, with later releases of pg-boss. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { runCommand } from '../../../support/child.js'
import { skipWithoutPostgres } from '../../../support/postgres.js'

if (process.argv[2] !== 'child') {
  const skip = await skipWithoutPostgres()
  for (const release of ['11', '12']) {
    t.test(`the engine works with pg-boss ${release}`, { skip }, async (t) => {
      const work = await mkdtemp(join(tmpdir(), 'pg-boss-'))
      t.teardown(() => rm(work, { recursive: true, force: true }))
      const flags = ['--prefix', work, '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
      await runCommand('npm', ['install', ...flags, `pg-boss@${release}`, 'pg'], work)
      const { href } = pathToFileURL(createRequire(join(work, 'file.js')).resolve('pg-boss'))
      const hook = `export const resolve = (name, context, next) => next(name === 'pg-boss' ? '${href}' : name, context)`
      const hooks = `import { register } from 'node:module'; register(${JSON.stringify(moduleOf(hook))})`
      const child = [process.execPath, '--import', moduleOf(hooks), String(process.argv[1]), 'child']
      await t.resolves(runCommand('env', ['TAP_TIMEOUT=600', ...child], work))
    })
  }
} else await import('./pg-boss.test.js')

function moduleOf(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`
}
