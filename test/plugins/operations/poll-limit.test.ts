import t from 'tap'
import { PollLimit } from '../../../src/plugins/operations/poll-limit.js'

t.test('so many polls of one operation within a window, then how long to wait', async (t) => {
  const limit = new PollLimit({ max: 3, timeWindow: 60_000 })
  const counted = [0, 1_000, 2_000, 3_000, 59_999].map((now) => limit.count('a', now))
  t.strictSame(counted, [null, null, null, 57_000, 1])
  t.equal(limit.count('b', 3_000), null, 'each has its own')
  t.equal(limit.count('a', 60_000), null, 'a new window')
  t.equal(limit.count('a', 60_001), null)
})

t.test('who goes on asking does not wait longer for it', async (t) => {
  const limit = new PollLimit({ max: 1, timeWindow: 1_000 })
  for (let now = 0; now < 1_000; now += 10) limit.count('a', now)
  t.equal(limit.count('a', 1_000), null)
})

t.test('only the last operations are counted, so that their number is no matter', async (t) => {
  const limit = new PollLimit({ max: 1, timeWindow: 60_000 })
  for (let index = 0; index < 10_000; index += 1) limit.count(`operation ${index}`, 0)
  t.equal(limit.count('operation 0', 1), 59_999)
  limit.count('one more', 0)
  t.equal(limit.count('operation 0', 1), null, 'the first makes way')
  t.equal(limit.count('operation 9999', 1), 59_999)
})
