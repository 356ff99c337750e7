import t from 'tap'
import { RunTimes } from '../../../src/plugins/operations/run-times.js'

t.test('nothing is known of a name that has not ended yet', async (t) => {
  const times = new RunTimes()
  times.add('a', 1_000, 1)
  t.equal(times.usual('b'), null)
  t.equal(times.usual('__proto__'), null)
})

t.test('three in four of the last runs were over by then', async (t) => {
  const times = new RunTimes()
  times.add('a', 4_000, 1)
  t.equal(times.usual('a'), 4_000)
  for (const [index, took] of [1_000, 3_000, 2_000].entries()) times.add('a', took, 2 + index)
  t.equal(times.usual('a'), 4_000)
  times.add('a', 1_500, 9)
  t.equal(times.usual('a'), 3_000)
})

t.test('the last sixteen count', async (t) => {
  const times = new RunTimes()
  for (let end = 1; end <= 10_000; end += 1) times.add('a', 60_000, end)
  for (let end = 10_001; end <= 10_016; end += 1) times.add('a', 2_000, end)
  t.equal(times.usual('a'), 2_000)
})

t.test('the same end teaches once, however often it is looked at; so does an older one', async (t) => {
  const times = new RunTimes()
  for (let end = 1; end <= 4; end += 1) times.add('a', 1_000, end)
  for (let time = 0; time < 100; time += 1) times.add('a', 900_000, 5)
  for (let time = 0; time < 100; time += 1) times.add('a', 900_000, 3)
  t.equal(times.usual('a'), 1_000)
})

t.test('a clock that went back gives no negative time', async (t) => {
  const times = new RunTimes()
  times.add('a', -5, 1)
  t.equal(times.usual('a'), 0)
})
