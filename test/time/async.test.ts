import dgram from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { resolveOptions } from '../../src/options.js'
import {
  inTime,
  isPromise,
  LateError,
  outageLog,
  scheduleTimeout,
  whenSettled,
  withValue,
} from '../../src/time/async.js'
import { clockOption, timerOption } from '../../src/time/clock.js'
import { manualClock } from '../support/manual-clock.js'

t.test('a value that is there is used at once, and that of a promise when it comes', async (t) => {
  const fail = (error: unknown) => `failed: ${(error as Error).message}`
  const no = (): never => {
    throw new Error('no')
  }
  t.equal(withValue(1, String), '1')
  t.equal(await withValue(Promise.resolve(1), String), '1')
  t.equal(
    whenSettled(() => 1, String, fail),
    '1',
  )
  t.equal(whenSettled(no, String, fail), 'failed: no')
  t.equal(await whenSettled(async () => 1, String, fail), '1')
  t.equal(await whenSettled(async () => no(), String, fail), 'failed: no')
  t.throws(() => whenSettled(() => 1, no, fail), { message: 'no' }, 'what the use throws is no failure')
  for (const value of [1, null, undefined, { at: 1 }]) t.equal(isPromise<unknown>(value), false)
})

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

t.test('a promise that settles in time settles as it would, and leaves no timer', async (t) => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  t.equal(await inTime(Promise.resolve(1), 10, 'it', clock.schedule), 1)
  await t.rejects(inTime(Promise.reject(new Error('own')), 10, 'it', clock.schedule), { message: 'own' })
  t.equal(clock.waiting(), 0)
})

t.test('a promise that is late rejects, and its later rejection is handled', async (t) => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  let fail: (error: Error) => void = () => {}
  const late = new Promise<never>((_resolve, reject) => {
    fail = reject
  })
  const waited = inTime(late, 10, 'an answer', clock.schedule)
  const rejected = t.rejects(waited, new LateError('an answer did not come within 10 ms'))
  await clock.advance(10)
  await rejected
  t.equal(new LateError('').name, 'LateError')
  fail(new Error('later'))
})

t.test('a reply that came while the event loop was blocked is in time', async (t) => {
  const socket = dgram.createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const reply = new Promise((resolve) => socket.once('message', resolve))
  const waited = inTime(reply, 20, 'a reply')
  await new Promise((resolve) => socket.send('reply', socket.address().port, '127.0.0.1', resolve))
  const end = performance.now() + 60
  while (performance.now() < end);
  t.same(await waited, Buffer.from('reply'))
  socket.close()
})

t.test('an outage begins with the first failure and ends with the first success', async (t) => {
  const outage = outageLog()
  t.equal(outage.ends(), false, 'nothing has failed')
  t.strictSame([outage.begins(), outage.begins()], [true, false])
  t.strictSame([outage.ends(), outage.ends()], [true, false])
  t.equal(outage.begins(), true, 'the next one')
})

t.test('outages that follow each other within the interval are not logged', async (t) => {
  let now = 1000
  const outage = outageLog(60_000, () => now)
  t.strictSame([outage.begins(), outage.ends()], [true, true])
  now += 59_999
  t.strictSame([outage.begins(), outage.ends()], [false, false])
  now += 1
  t.strictSame([outage.begins(), outage.ends()], [true, true])
})

t.test('without options of tests, the clock and the timers are those of the machine', async (t) => {
  const { now, schedule } = resolveOptions('clock', {}, { ...clockOption, ...timerOption })
  t.type(now(), 'number')
  t.equal(schedule, scheduleTimeout)
})
