/** How often an operation may be polled. */
import t from 'tap'
import { pollLimit } from '../../../src/plugins/operations/hooks.js'

t.test('polls of one operation are limited in a window; beyond it, a client has to wait', async (t) => {
  const limit = pollLimit(3)
  const counted = [0, 1_000, 2_000, 3_000, 59_999].map((now) => limit('a', now))
  t.strictSame(counted, [null, null, null, 57_000, 1])
  t.equal(limit('b', 3_000), null, 'each operation has its own window')
  t.equal(limit('a', 60_000), null, 'polls beyond the limit do not prolong the window')
})

t.test('only the polls of the last 10,000 operations are counted', async (t) => {
  const limit = pollLimit(1)
  for (let index = 0; index < 10_000; index += 1) limit(`operation ${index}`, 0)
  t.equal(limit('operation 0', 1), 59_999)
  limit('one more', 0)
  t.equal(limit('operation 0', 1), null)
  t.equal(limit('operation 9999', 1), 59_999)
})
