import { test } from 'tap'
import { rememberLast } from '../../src/fastify/remember-last.js'

test('the same key twice in a row is asked about once; another one, and the first again, anew', async (t) => {
  const asked: object[] = []
  const [one, other] = [{}, {}]
  const answer = rememberLast((key: object) => asked.push(key))
  t.strictSame([answer(one), answer(one), answer(other), answer(one)], [1, 1, 2, 3])
  t.strictSame(asked, [one, other, one])
})

test('undefined is a key, and an answer, like any other', async (t) => {
  let asked = 0
  const answer = rememberLast((_key: undefined) => {
    asked++
  })
  t.equal(answer(undefined), undefined)
  answer(undefined)
  t.equal(asked, 1)
})
