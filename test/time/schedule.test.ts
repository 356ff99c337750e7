import { once } from 'node:events'
import t from 'tap'
import { scheduleTimeout } from '../../src/time/schedule.js'

t.test('the callback runs once, later, unless it is cancelled', async (t) => {
  const target = new EventTarget()
  const called: string[] = []
  scheduleTimeout(() => called.push('prevented'), 1)()
  scheduleTimeout(() => {
    called.push('called')
    target.dispatchEvent(new Event('called'))
  }, 2)
  t.strictSame(called, [])
  // A timer that keeps the process: the one that is tried does not.
  const kept = setTimeout(() => {}, 10_000)
  await once(target, 'called')
  clearTimeout(kept)
  t.strictSame(called, ['called'])
})

t.test('a waiting timer does not keep the process alive', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const cancel = scheduleTimeout(() => t.fail('it was prevented'), 10_000)
  t.equal(timers(), before)
  cancel()
})
