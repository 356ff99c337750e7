import t from 'tap'
import { Outage } from '../../src/time/schedule.js'

t.test('an outage begins with the first failure and ends with the first success', async (t) => {
  const outage = new Outage()
  t.equal(outage.ends(), false, 'nothing has failed')
  t.strictSame([outage.begins(), outage.begins()], [true, false])
  t.strictSame([outage.ends(), outage.ends()], [true, false])
  t.equal(outage.begins(), true, 'the next one')
})

t.test('outages that follow each other within the interval are not logged', async (t) => {
  let now = 1000
  const outage = new Outage(60_000, () => now)
  t.strictSame([outage.begins(), outage.ends()], [true, true])
  now += 59_999
  t.strictSame([outage.begins(), outage.ends()], [false, false])
  now += 1
  t.strictSame([outage.begins(), outage.ends()], [true, true])
})
