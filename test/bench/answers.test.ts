import t from 'tap'
import { answerFaults, refuseFaults } from '../../bench/answers.js'

const requests = [{ target: '/v1/users/42' }, { method: 'POST', target: '/v1/users', status: 201 }]
const good = [
  { status: 200, body: '{"id":42}' },
  { status: 201, body: '{"id":43}' },
]

t.test('a response as declared has no faults', async (t) => {
  t.same(answerFaults(requests, good, null), [])
  t.same(answerFaults(requests, good, good), [])
})

t.test('another status is a fault', async (t) => {
  const faults = answerFaults(
    requests,
    [
      { status: 404, body: 'no such path' },
      { status: 200, body: '' },
    ],
    null,
  )
  t.same(faults, [
    'GET /v1/users/42: expected 200, got 404 no such path',
    'POST /v1/users: expected 201, got 200 ',
  ])
})

t.test('another body is a fault only if the same body is expected', async (t) => {
  const other = [{ status: 200, body: '{"id":4}' }, ...good.slice(1)]
  t.same(answerFaults(requests, other, null), [])
  t.same(answerFaults(requests, other, good), [
    'GET /v1/users/42: expected the body of the baseline, {"id":42}, got {"id":4}',
  ])
  t.equal(answerFaults(requests, good, []).length, 2, 'a missing response of the baseline is a fault too')
})

t.test('a body other than the declared one is a fault', async (t) => {
  const declared = [{ target: '/v1/users/42', answer: '{"id":42}' }, ...requests.slice(1)]
  t.same(answerFaults(declared, good, null), [])
  t.same(answerFaults(declared, [{ status: 200, body: '{}' }, ...good.slice(1)], null), [
    'GET /v1/users/42: expected {"id":42}, got {}',
  ])
})

t.test('a missing response is a fault', async (t) => {
  t.same(answerFaults(requests, good.slice(0, 1), null), ['POST /v1/users: no answer'])
})

t.test('a long body is cut in the message', async (t) => {
  const [fault = ''] = answerFaults(
    requests,
    [{ status: 500, body: 'x'.repeat(9_000) }, ...good.slice(1)],
    null,
  )
  t.ok(fault.length < 200)
})

t.test('refuseFaults', async (t) => {
  t.doesNotThrow(() => refuseFaults('bare', []))
  t.throws(() => refuseFaults('bare', ['one', 'two']), {
    message: "variant 'bare' does not answer as declared:\n  one\n  two",
  })
})
