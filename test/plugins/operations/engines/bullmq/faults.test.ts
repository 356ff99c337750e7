import t from 'tap'
import { Faults } from '../../../../../src/plugins/operations/engines/bullmq/faults.js'
import { fakeWorker } from './fake-worker.js'

t.test('a fault is told once, by whichever part meets it, and its end when all are over', async (t) => {
  const { told, failed, recovered } = fakeWorker()
  const faults = new Faults({ failed, recovered })
  faults.over('queue')
  for (const part of ['queue', 'worker', 'queue']) faults.met(part, 'away', new Error())
  faults.over('queue')
  t.strictSame(told, ['away'])
  faults.met('runs', 'cannot run', new Error())
  faults.over('worker')
  faults.over('worker')
  t.strictSame(told, ['away', 'cannot run'])
  faults.over('runs')
  t.strictSame(told, ['away', 'cannot run', 'recovered'])
  faults.met('queue', 'away', new Error())
  t.strictSame(told.slice(3), ['away'], 'the next time it is new')
})
