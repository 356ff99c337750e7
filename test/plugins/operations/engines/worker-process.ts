/**
 * A process that runs operations, which end when it closes. It writes a line when it is ready, the id of each operation
 * that it begins, and a line when it has closed. It closes on input; then nothing should keep it alive.
 */
import { type BullmqEngineOptions, bullmqEngine } from '../../../../src/plugins/operations/engines/bullmq.js'
import type { RunOutcome } from '../../../../src/plugins/operations/engines/engine.js'

const [options = '', lease = ''] = process.argv.slice(2)
const engine = bullmqEngine(JSON.parse(options) as BullmqEngineOptions)
let end = () => {}
const ended = new Promise<RunOutcome>((resolve) => {
  end = () => resolve({ kind: 'ended', hasFailed: false })
})

await engine.start({
  lease: Number(lease),
  run(id) {
    process.stdout.write(`${id}\n`)
    return ended
  },
  now: Date.now,
  lost() {},
  failed() {},
  recovered() {},
})
await engine.work()
process.stdin.once('data', async () => {
  process.stdin.destroy()
  const closed = engine.close()
  end()
  await closed
  process.stdout.write('closed\n')
})
process.stdout.write('ready\n')
