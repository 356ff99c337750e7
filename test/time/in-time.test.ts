import t from 'tap'
import { inTime, LateError } from '../../src/time/in-time.js'
import { manualClock } from '../support/manual-clock.js'

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
  fail(new Error('later'))
})
