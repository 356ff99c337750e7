import dgram from 'node:dgram'
import t from 'tap'
import { inTime, LateError } from '../../src/time/schedule.js'
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
