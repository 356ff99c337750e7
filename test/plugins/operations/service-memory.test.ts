/** The memory of finished operations, with their waits, poll limits and timers. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand } from '../../package/run-command.js'
import { programArguments } from '../../support/program.js'

t.test('100,000 finished operations take under 1 kB each, and nothing once they have expired', async (t) => {
  const program = programArguments(new URL('service-growth.ts', import.meta.url))
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  const printed = await runCommand(process.execPath, ['--expose-gc', ...program], folder)
  const { each, left, timers, timersAfter } = JSON.parse(printed) as Readonly<Record<string, number>>
  t.ok(Number(each) < 1_000, `${each} bytes each`)
  t.ok(Number(left) < 3_000_000, `${left} bytes are left`)
  t.equal(timers, 1, 'the next sweep, and nothing else')
  t.equal(timersAfter, 0)
})
