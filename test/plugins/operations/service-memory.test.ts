import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand } from '../../support/child.js'
import { programArguments } from '../../support/program.js'

t.test(
  'operations take under 1.5 kB each, finished ones 1 kB, and nothing once they have expired',
  async (t) => {
    const program = programArguments(new URL('service-growth.ts', import.meta.url))
    const folder = fileURLToPath(new URL('../..', import.meta.url))
    const printed = await runCommand(process.execPath, ['--expose-gc', ...program], folder)
    const { waiting, each, left, timers, timersAfter } = JSON.parse(printed)
    t.ok(waiting < 1_500, `${waiting} bytes each, while they wait`)
    t.ok(each < 1_000, `${each} bytes each`)
    t.ok(left < 30, `${left} bytes are left of each`)
    t.strictSame([timers, timersAfter], [1, 0], 'the next sweep, and nothing else')
  },
)
