/**
 * A process that runs operations, which end when it closes. Its set-up is JSON in its first argument. It writes the id of each
 * operation that it begins. After a SIGTERM it closes, and writes `closed`; then nothing should keep it alive.
 */
import { type BullmqEngineOptions, bullmqEngine } from '../../../../src/plugins/operations/engines/bullmq.js'
import type { RunOutcome } from '../../../../src/plugins/operations/engines/engine.js'

const { lease, ...options }: BullmqEngineOptions & { lease: number } = JSON.parse(process.argv[2] ?? '')
const engine = bullmqEngine(options)
let end = () => {}
const ended = new Promise<RunOutcome>((resolve) => {
  end = () => resolve({ kind: 'ended', hasFailed: false })
})

await engine.start({
  lease,
  run(id) {
    console.log(id)
    return ended
  },
  now: Date.now,
  lost() {},
  failed() {},
  recovered() {},
})
await engine.work()
process.once('SIGTERM', () => {
  void engine.close().then(() => console.log('closed'))
  end()
})
console.log('at work')
