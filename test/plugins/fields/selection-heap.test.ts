/** Nothing is cached for each selection without a bound. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand } from '../../package/run-command.js'
import { programArguments } from '../../support/program.js'

// Selections are a few hundred bytes each: if 20,000 were kept it would be more.
const mostGrowth = 4_000_000

t.test('20,000 requests with distinct selections leave the heap where it was', async (t) => {
  const program = programArguments(new URL('selection-growth.ts', import.meta.url))
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  const printed = await runCommand(process.execPath, ['--expose-gc', ...program], folder)
  const { requests, statuses } = JSON.parse(printed) as {
    readonly requests: number
    readonly statuses: readonly number[]
  }
  t.ok(requests < mostGrowth, `requests: the heap grew by ${requests} bytes`)
  t.strictSame(statuses, [200, 400], 'answered and refused')
})
