// Own process: it is slow
/** `fastify-conventions check` of the apps, as they are and after the steps of `docs/into-a-running-service.md`. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { userEnvironment } from '../../support/child.js'
import { type AppName, appIn, type State } from './boot.js'

const program = resolve('dist/cli/index.js')

/** The rules that stop the boot of each app as it is. */
const stopping: Readonly<Record<AppName, readonly string[]>> = {
  tasks: ['lists.offset', 'pathGuard.version'],
  generated: ['pathGuard.plural', 'pathGuard.version'],
}

for (const [name, rules] of Object.entries(stopping) as [AppName, readonly string[]][]) {
  t.test(`${name}: what stops the boot, and 1; nothing after the steps, and 0`, async (t) => {
    const before = await check(t.testdir(), name, 'bare')
    t.equal(before.code, 1, before.err)
    const found = before.report.findings
      .filter(({ effect }) => effect === 'boot stopped')
      .map(({ plugin, rule }) => `${plugin}.${rule}`)
    t.strictSame([...new Set(found)].sort(), rules)

    const after = await check(t.testdir(), name, 'enforce')
    t.equal(after.code, 0, after.err)
    for (const { effect } of after.report.findings) t.equal(effect, 'none', 'nothing stops the boot')
    t.equal(after.report.document.isBroken, false)
  })

  t.test(`${name}: with the block that it proposes, pasted, the app boots`, async (t) => {
    const { out } = await run((await appIn(t.testdir(), name, 'bare')).file)
    t.match(
      out,
      /^Under enforce, of \d+ routes: break clients [1-9]\d*, change bytes 0, fine \d+ \(by the boot: check sends no requests\)$/m,
    )
    const [, block] = /write the reasons:\n\n([\s\S]*?)\n\n/.exec(out) ?? []
    const { file, boot } = await appIn(t.testdir(), name, 'report')
    writeFileSync(file, readFileSync(file, 'utf8').replace("{ mode: 'report' }", `{\n${block}\n}`))
    const app = await boot()
    await app.ready()
    await app.close()
    const { code, err } = await run(file)
    t.equal(code, 0, err)
  })
}

async function check(root: string, name: AppName, state: State) {
  const { file } = await appIn(root, name, state)
  const { out, ...rest } = await run(file, '--format', 'json')
  const report: {
    readonly findings: readonly Readonly<Record<'plugin' | 'rule' | 'effect', string>>[]
    readonly document: { readonly isBroken: boolean }
  } = JSON.parse(out)
  return { ...rest, report }
}

async function run(file: string, ...options: string[]) {
  const args = [program, 'check', file, ...options]
  return new Promise<{ code: number; out: string; err: string }>((done) => {
    execFile(process.execPath, args, { env: userEnvironment() }, (error, out, err) => {
      done({ code: error === null ? 0 : Number(error.code), out, err })
    })
  })
}
