/** Faults in the log: their begin and their end, not each failure. */
import Fastify from 'fastify'
import t from 'tap'
import { faultLog } from '../../../src/plugins/operations/events.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { start } from './samples.js'

function setUp() {
  const clock = manualClock(start)
  const { logger, lines } = keepLogs('info')
  const faults = faultLog(Fastify({ logger }).log, 'runs', clock.now)
  return { clock, faults, lines, messages: () => lines.map(({ msg }) => msg) }
}

t.test('the begin and the end of a fault are logged once, with its cause and its part', async (t) => {
  const { clock, faults, lines, messages } = setUp()
  faults.recovered()
  for (let minute = 0; minute < 100; minute += 1) {
    faults.failed('it cannot be written', new Error('ECONNREFUSED'))
    clock.skip(60_000)
  }
  faults.recovered()
  faults.recovered()
  t.strictSame(messages(), ['operations: it cannot be written', 'operations: the fault is over'])
  t.match(lines[0], { level: 50, part: 'runs', err: { message: 'ECONNREFUSED' } })
})

t.test('a part that fails and recovers all the time is logged once in a minute', async (t) => {
  const { clock, faults, messages } = setUp()
  for (let second = 0; second < 600; second += 1) {
    faults.failed('a', null)
    faults.recovered()
    clock.skip(1_000)
  }
  t.equal(messages().length, 20)
})
