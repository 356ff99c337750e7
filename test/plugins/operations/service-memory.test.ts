/** The memory of operations, with their place in the queue, waits, poll limits and timers. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand } from '../../support/child.js'
import { programArguments } from '../../support/program.js'

t.test(
  'many operations take under 1.5 kB each, finished ones 1 kB, and nothing once they have expired',
  async (t) => {
    const program = programArguments(new URL('service-growth.ts', import.meta.url))
    const folder = fileURLToPath(new URL('../..', import.meta.url))
    const printed = await runCommand(process.execPath, ['--expose-gc', ...program], folder)
    const { waiting, each, left, timers, timersAfter } = JSON.parse(printed) as Readonly<
      Record<string, number>
    >
    t.ok(Number(waiting) < 1_500, `${waiting} bytes each, while they wait`)
    t.ok(Number(each) < 1_000, `${each} bytes each`)
    t.ok(Number(left) < 30, `${left} bytes are left of each`)
    t.equal(timers, 1, 'the next sweep, and nothing else')
    t.equal(timersAfter, 0)
  },
)
