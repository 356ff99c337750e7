import t from 'tap'
import { OverdueAnswers } from '../../../src/plugins/operations/overdue-answers.js'

function setUp() {
  const clock = { time: 1_000_000 }
  return { clock, overdue: new OverdueAnswers({ max: 2, retryAfter: 5_000, now: () => clock.time }) }
}

const never = () => new Promise(() => {})

t.test('a few answers that are overdue keep nobody from asking', async (t) => {
  const { overdue } = setUp()
  overdue.add(never())
  for (let ask = 0; ask < 10; ask += 1) t.ok(overdue.mayAsk())
})

t.test('where many are overdue it is asked once in a while', async (t) => {
  const { overdue, clock } = setUp()
  for (let late = 0; late < 3; late += 1) overdue.add(never())
  t.notOk(overdue.mayAsk(), 'that the last one is late has just been seen')
  clock.time += 5_000
  t.ok(overdue.mayAsk())
  t.notOk(overdue.mayAsk())
  clock.time += 4_999
  t.notOk(overdue.mayAsk())
  clock.time += 1
  t.ok(overdue.mayAsk())
})

t.test('what comes late, or fails late, is not overdue any more', async (t) => {
  for (const settle of [Promise.resolve(), Promise.reject(new Error('late'))]) {
    const { overdue } = setUp()
    overdue.add(never())
    overdue.add(settle)
    t.notOk(overdue.mayAsk())
    await settle.catch(() => {})
    await null
    t.ok(overdue.mayAsk())
  }
})

t.test('an answer in time says that it can be asked, whatever is overdue still', async (t) => {
  const { overdue } = setUp()
  for (let late = 0; late < 3; late += 1) overdue.add(never())
  overdue.clear()
  t.ok(overdue.mayAsk())
})
