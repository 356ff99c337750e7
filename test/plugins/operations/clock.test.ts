/** The clock of the store decides, whatever the clocks of the instances show. */
import t from 'tap'
import { storeClock } from '../../../src/plugins/operations/registry.js'

const hour = 3_600_000
const { timeOrigin } = performance

/** Sets the steady time of the process, in milliseconds since its start, for the rest of the test. */
function steady(t: { intercept: typeof import('tap').default.intercept }) {
  const process = { time: 1_000 }
  t.intercept(performance, 'now', { value: () => process.time })
  return process
}

t.test('the time is that of the store, also if the clock of the process is an hour off', async (t) => {
  const process = steady(t)
  for (const difference of [-hour, 0, hour]) {
    const clock = storeClock({ time: async () => timeOrigin + process.time + difference }, undefined)
    await clock.sync()
    process.time += 5_000
    t.equal(clock.now(), Math.floor(timeOrigin + process.time + difference))
  }
})

t.test('a difference within the time of the answer does not move the clock', async (t) => {
  const process = steady(t)
  const answers = [0, 99, -99, 300]
  const clock = storeClock(
    {
      async time() {
        process.time += 100
        const time = timeOrigin + process.time + (answers.shift() ?? 0)
        process.time += 100
        return time
      },
    },
    undefined,
  )
  const moved: number[] = []
  for (let sync = 0; sync < 4; sync += 1) {
    await clock.sync()
    moved.push(clock.now() - Math.floor(timeOrigin + process.time))
  }
  t.strictSame(moved, [0, 0, 0, 300])
})

t.test('a store without a clock has that of the process; a clock of the options replaces both', async (t) => {
  t.intercept(Date, 'now', { value: () => 7_000 })
  const local = storeClock({}, undefined)
  await local.sync()
  t.equal(local.now(), 7_000)
  const given = storeClock({ time: async () => hour }, () => 42.9)
  await given.sync()
  t.equal(given.now(), 42)
})
