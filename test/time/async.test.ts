import dgram from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import * as time from '../../src/time/async.js'
import { duration, timeWindowOf } from '../../src/time/time-window.js'
import { manualClock } from '../support/manual-clock.js'

t.test('a value that is there is used at once, and that of a promise when it comes', async (t) => {
  const fail = (error: unknown) => `failed: ${(error as Error).message}`
  const no = (): never => {
    throw new Error('no')
  }
  t.equal(time.withValue(1, String), '1')
  t.equal(await time.withValue(Promise.resolve(1), String), '1')
  const ofValue = time.whenSettled(() => 1, String, fail)
  t.equal(ofValue, '1')
  t.equal(time.whenSettled(no, String, fail), 'failed: no')
  t.equal(await time.whenSettled(async () => 1, String, fail), '1')
  t.equal(await time.whenSettled(async () => no(), String, fail), 'failed: no')
  t.throws(() => time.whenSettled(() => 1, no, fail), { message: 'no' }, 'what the use throws is no failure')
  for (const value of [1, null, undefined, { at: 1 }]) t.equal(time.isPromise<unknown>(value), false)
})

t.test('the callback runs once, later, unless it is cancelled', async (t) => {
  const target = new EventTarget()
  const called: string[] = []
  time.scheduleTimeout(() => called.push('prevented'), 1)()
  time.scheduleTimeout(() => {
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
  const cancel = time.scheduleTimeout(() => t.fail('it was prevented'), 10_000)
  t.equal(timers(), before)
  cancel()
})

t.test('a promise that settles in time settles as it would, and leaves no timer', async (t) => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  t.equal(await time.inTime(Promise.resolve(1), 10, 'it', clock.schedule), 1)
  await t.rejects(time.inTime(Promise.reject(new Error('own')), 10, 'it', clock.schedule), { message: 'own' })
  t.equal(clock.waiting(), 0)
})

t.test('a promise that is late rejects, and its later rejection is handled', async (t) => {
  const clock = manualClock('2026-01-01T00:00:00Z')
  let fail: (error: Error) => void = () => {}
  const late = new Promise<never>((_resolve, reject) => {
    fail = reject
  })
  const waited = time.inTime(late, 10, 'an answer', clock.schedule)
  const rejected = t.rejects(waited, new time.LateError('an answer did not come within 10 ms'))
  await clock.advance(10)
  await rejected
  t.equal(new time.LateError('').name, 'LateError')
  fail(new Error('later'))
})

t.test('a reply that came while the event loop was blocked is in time', async (t) => {
  const socket = dgram.createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const reply = new Promise((resolve) => socket.once('message', resolve))
  const waited = time.inTime(reply, 20, 'a reply')
  await new Promise((resolve) => socket.send('reply', socket.address().port, '127.0.0.1', resolve))
  const end = performance.now() + 60
  while (performance.now() < end);
  t.same(await waited, Buffer.from('reply'))
  socket.close()
})

t.test('an outage begins with the first failure and ends with the first success', async (t) => {
  const outage = time.outageLog()
  t.equal(outage.ends(), false, 'nothing has failed')
  t.strictSame([outage.begins(), outage.begins()], [true, false])
  const calls = [outage.ends(), outage.ends(), outage.begins()]
  t.strictSame(calls, [true, false, true], 'and the next one begins')
})

t.test('outages that follow each other within the interval are not logged', async (t) => {
  let now = 1000
  const outage = time.outageLog(60_000, () => now)
  t.strictSame([outage.begins(), outage.ends()], [true, true])
  now += 59_999
  t.strictSame([outage.begins(), outage.ends()], [false, false])
  now += 1
  t.strictSame([outage.begins(), outage.ends()], [true, true])
})

t.test('a window is milliseconds, or a number with a unit', async (t) => {
  const units = {
    's sec secs second seconds': 1000,
    'm min mins minute minutes': 60_000,
    'h hr hrs hour hours': 3_600_000,
    'd day days': 86_400_000,
  }
  const ofUnits = Object.entries(units).flatMap(([names, milliseconds]) =>
    names.split(' ').map((name) => [`2 ${name}`, 2 * milliseconds] as const),
  )
  const ofOne = ['ms', 'millisecond', 'milliseconds'].map((name) => [`1500${name}`, 1500] as const)
  const others = [[1000, 1000] as const, ['1.5 hours', 5_400_000] as const, ['2.125s', 2125] as const]
  for (const [window, milliseconds] of [...ofUnits, ...ofOne, ...others])
    t.equal(timeWindowOf(window), milliseconds, String(window))
})

t.test('an invalid window, or one below a second, is refused', async (t) => {
  const numbers = [999, 0, -1, 1000.5, Number.NaN, Number.POSITIVE_INFINITY]
  const texts = [
    '',
    '1',
    'minute',
    '1 fortnight',
    '0 s',
    '10 ms',
    '-1 minute',
    '1e3 s',
    '1  minute',
    '1 minute ',
  ]
  const units = ['xms', 'xs', 'xm', 'xh', 'xd', 'msx', 'sx', 'mx', 'hx', 'dx'].map((name) => `2000 ${name}`)
  for (const other of [...numbers, ...texts, ...units, '2.1234 s', ['2 s'], null, undefined, {}])
    t.equal(timeWindowOf(other), null, String(other))
})

t.test('an option that is a window becomes milliseconds, or its name is in the error', async (t) => {
  t.equal(duration('x.timeWindow', '30s'), 30_000)
  t.throws(() => duration('x.timeWindow', '10 ms'), { message: /^x\.timeWindow: expected at least a second/ })
})
