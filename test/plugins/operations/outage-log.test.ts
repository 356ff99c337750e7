import Fastify from 'fastify'
import t from 'tap'
import { OutageLog } from '../../../src/plugins/operations/outage-log.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'

function setUp() {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const { logger, lines } = keepLogs('info')
  const trouble = new OutageLog(Fastify({ logger }).log, 'runs', clock.now)
  const told = () => lines.splice(0).map(({ msg }) => msg)
  return { clock, trouble, told, lines }
}

t.test(
  'the first fault is told, with its cause and its part; the others are not, however long it lasts',
  async (t) => {
    const { clock, trouble, told, lines } = setUp()
    trouble.failed('it cannot be written', new Error('ECONNREFUSED'))
    t.match(lines[0], {
      level: 50,
      part: 'runs',
      err: { message: 'ECONNREFUSED' },
      msg: 'operations: it cannot be written',
    })
    told()
    for (let minute = 0; minute < 100; minute += 1) {
      trouble.failed('it cannot be written', new Error('ECONNREFUSED'))
      clock.skip(60_000)
    }
    t.strictSame(told(), [])
  },
)

t.test('its end is told once, and only where its begin was', async (t) => {
  const { trouble, told } = setUp()
  trouble.recovered()
  t.strictSame(told(), [])
  trouble.failed('a', null)
  trouble.recovered()
  trouble.recovered()
  t.strictSame(told(), ['operations: a', 'operations: it works again'])
})

t.test('what comes and goes is told once in a minute', async (t) => {
  const { clock, trouble, told } = setUp()
  for (let second = 0; second < 600; second += 1) {
    trouble.failed('a', null)
    trouble.recovered()
    clock.skip(1_000)
  }
  t.equal(told().length, 20)
})
