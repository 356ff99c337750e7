import t from 'tap'
import { type Answer, answerFaults, refuseFaults } from '../../bench/answers.js'

const requests = [{ target: '/v1/users/42' }, { method: 'POST', target: '/v1/users', status: 201 }]
const declared = [{ target: '/v1/users/42', answer: '{"id":42}' }, ...requests.slice(1)]
const post: Answer = { status: 201, body: '{"id":43}' }
const good: Answer[] = [{ status: 200, body: '{"id":42}' }, post]
const other: Answer[] = [{ status: 200, body: '{"id":4}' }, post]

t.test('faults are another status, a missing response, and another body where one is expected', async (t) => {
  const rows: readonly [typeof requests, readonly Answer[], readonly Answer[] | null, readonly string[]][] = [
    [requests, good, null, []],
    [requests, good, good, []],
    [requests, [{ status: 404, body: 'no' }, post], null, ['GET /v1/users/42: expected 200, got 404 no']],
    [requests, good.slice(0, 1), null, ['POST /v1/users: no answer']],
    [requests, other, null, []],
    [requests, other, good, ['GET /v1/users/42: expected the body of the baseline, {"id":42}, got {"id":4}']],
    [declared, good, null, []],
    [declared, other, null, ['GET /v1/users/42: expected {"id":42}, got {"id":4}']],
  ]
  for (const [asked, answers, expected, faults] of rows)
    t.same(answerFaults(asked, answers, expected), faults)
  t.equal(answerFaults(requests, good, []).length, 2, 'a missing response of the baseline is a fault too')
  const [long = ''] = answerFaults(requests, [{ status: 500, body: 'x'.repeat(9_000) }, post], null)
  t.ok(long.length > 40 && long.length < 200, 'a long body is cut')
})

t.test('faults are refused with the name of the variant', async (t) => {
  t.doesNotThrow(() => refuseFaults('bare', []))
  const message = "variant 'bare' does not answer as declared:\n  one\n  two"
  t.throws(() => refuseFaults('bare', ['one', 'two']), { message })
})
