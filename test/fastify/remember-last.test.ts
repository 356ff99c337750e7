import { test } from 'tap'
import { rememberLast } from '../../src/fastify/remember-last.js'

test('a result is computed once for equal keys in a row, and again after another key', async (t) => {
  const keys: object[] = []
  const [one, other] = [{}, {}]
  const compute = rememberLast((key: object) => keys.push(key))
  t.strictSame([compute(one), compute(one), compute(other), compute(one)], [1, 1, 2, 3])
  t.strictSame(keys, [one, other, one])
})

test('undefined is remembered as a key and as a result', async (t) => {
  let calls = 0
  const compute = rememberLast((_key: undefined) => {
    calls++
  })
  t.equal(compute(undefined), undefined)
  compute(undefined)
  t.equal(calls, 1)
})
