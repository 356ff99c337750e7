/** A stream of status documents whose reader is slow, or does not read at all. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type StatusEvent, statusStream } from '../../../src/plugins/operations/status-stream.js'
import { manualClock } from '../../support/manual-clock.js'
import { start } from './samples.js'

function open() {
  const clock = manualClock(start)
  const state = { event: eventOf(1) as StatusEvent | null, isClosing: false, reads: 0, ends: 0 }
  let wake: () => void = () => {}
  const stream = statusStream({
    first: eventOf(1),
    async read() {
      state.reads += 1
      return state.event
    },
    watch: (woken) => {
      wake = woken
      return () => {
        wake = () => {}
      }
    },
    isClosing: () => state.isClosing,
    retry: 5_000,
    readInterval: null,
    schedule: clock.schedule,
    onEnd: () => {
      state.ends += 1
    },
  })
  return {
    clock,
    state,
    stream,
    async become(event: StatusEvent | null) {
      state.event = event
      wake()
      await setImmediate()
    },
    close() {
      state.isClosing = true
      wake()
    },
    /** Reads what there is, and waits for what follows. */
    async read(): Promise<string> {
      const text = String(stream.read() ?? '')
      await setImmediate()
      return text
    },
  }
}

function eventOf(id: number, isLast = false): StatusEvent {
  return { id, data: `{"n":${id}}`, isLast }
}

const textOf = (id: number) => `event: status\nid: ${id}\ndata: {"n":${id}}\n\n`

t.test('a slow reader gets the latest document, and those in between are not read', async (t) => {
  const { become, read, state, clock } = open()
  t.equal(await read(), `retry: 5000\n${textOf(1)}`)
  await become(eventOf(2))
  const { reads } = state
  for (let id = 3; id < 1_000; id += 1) await become(eventOf(id))
  await clock.advance(60_000)
  t.equal(state.reads, reads, 'one document waits')
  t.equal(await read(), textOf(2))
  t.equal(await read(), textOf(999))
  t.equal(await read(), '')
})

t.test('a document that has not changed is not sent again', async (t) => {
  const { become, read, state } = open()
  await read()
  await become({ ...eventOf(1), id: 7 })
  t.equal(await read(), '')
  t.ok(state.reads > 0)
})

t.test('the stream ends after the final document, and when the operation is deleted', async (t) => {
  for (const last of [eventOf(2, true), null]) {
    const { become, stream, state, clock } = open()
    const seen: string[] = []
    stream.on('data', (chunk) => seen.push(String(chunk)))
    await setImmediate()
    await become(last)
    await clock.advance(15_000)
    t.strictSame(seen, [`retry: 5000\n${textOf(1)}`, ...(last === null ? [] : [textOf(2)])])
    t.ok(stream.readableEnded)
    t.strictSame([state.ends, clock.waiting()], [1, 0])
  }
})

t.test('closing ends the stream of a reader, and drops that of a client that does not read', async (t) => {
  const reading = open()
  reading.stream.resume()
  await setImmediate()
  reading.close()
  await setImmediate()
  t.ok(reading.stream.readableEnded)
  t.equal(reading.state.ends, 1)

  const stalled = open()
  await stalled.read()
  await stalled.become(eventOf(2))
  stalled.close()
  await setImmediate()
  t.ok(stalled.stream.destroyed)
  t.strictSame([stalled.state.ends, stalled.clock.waiting()], [1, 0])
})
