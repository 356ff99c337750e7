import t from 'tap'
import { QueueRoom } from '../../../../../src/plugins/operations/engines/bullmq/queue-room.js'

/** A room of three, over a queue whose length the test sets. */
function room() {
  const queue = { waiting: 0, counts: 0, time: 0, isAway: false }
  const count = async () => {
    queue.counts += 1
    if (queue.isAway) throw new Error('away')
    return queue.waiting
  }
  const room = new QueueRoom({ count, max: 3, now: () => queue.time })
  return {
    queue,
    /** As a queue does it. */
    async take() {
      if (!room.take()) await room.takeAfterCount()
    },
  }
}

const full = { name: 'OperationQueueFullError', message: '3 operations wait already' }

t.test('within a second a queue is counted once, and what is put in counts with it', async (t) => {
  const { queue, take } = room()
  await take()
  queue.waiting = 1
  await take()
  t.equal(queue.counts, 1)
  await take()
  t.equal(queue.counts, 1)
})

t.test('a queue that seems full is counted before anybody is turned away', async (t) => {
  const { queue, take } = room()
  for (let taken = 0; taken < 3; taken += 1) await take()
  queue.waiting = 2
  await take()
  t.equal(queue.counts, 2, 'others have taken one out')
  queue.waiting = 3
  await t.rejects(take(), full)
})

t.test('while a queue is known to be full it is asked once a second, however many come', async (t) => {
  const { queue, take } = room()
  queue.waiting = 3
  await take()
  await t.rejects(take(), full)
  const { counts } = queue
  for (let come = 0; come < 10; come += 1) await t.rejects(take(), full)
  t.equal(queue.counts, counts)
  queue.time = 1_000
  queue.waiting = 0
  await Promise.all([take(), take(), take()])
  t.equal(queue.counts, counts + 1)
})

t.test('a count that fails turns nobody away while there was room', async (t) => {
  const { queue, take } = room()
  queue.isAway = true
  await take()
  await take()
  await take()
  await t.rejects(take(), { message: 'away' })
})
