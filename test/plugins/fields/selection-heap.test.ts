/** Nothing is cached for each selection without a bound. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand } from '../../package/run-command.js'
import { programArguments } from '../../support/program.js'

// Selections are a few hundred bytes each: if 100,000 were kept it would be tens of megabytes.
const mostGrowth = 4_000_000

t.test('100,000 distinct selections and 10,000 requests leave the heap where it was', async (t) => {
  const program = programArguments(new URL('selection-growth.ts', import.meta.url))
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  const printed = await runCommand(process.execPath, ['--expose-gc', ...program], folder)
  const { selections, requests, statuses } = JSON.parse(printed) as {
    readonly selections: number
    readonly requests: number
    readonly statuses: readonly number[]
  }
  t.ok(selections < mostGrowth, `selections: the heap grew by ${selections} bytes`)
  t.ok(requests < mostGrowth, `requests: the heap grew by ${requests} bytes`)
  t.strictSame(statuses, [200, 400], 'answered and refused')
})
