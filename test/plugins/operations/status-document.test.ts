/** The status document, as this package and generic clients of long-running operations read it. */
import t from 'tap'
import type { OperationRecord } from '../../../src/plugins/operations/record.js'
import { statusDocument } from '../../../src/plugins/operations/status-document.js'
import { cancel, claim, finish, renew } from '../../../src/plugins/operations/transitions.js'
import { begun, failed, failure, idOf, lease, retention, startTime, succeeded, sure } from './samples.js'

const href = `/v1/operations/${idOf(1)}`
const document = (record: OperationRecord) =>
  statusDocument(record, { href, typeBase: 'https://example.com/', readResult: JSON.parse })

const waiting = begun()
const running = sure(renew(sure(claim(waiting, startTime, lease)), 1, 0.4, startTime, lease))
const link = { rel: 'cancel', method: 'DELETE', href }
const created_at = '2026-11-20T08:00:00.000Z'
const id = idOf(1)

t.test('it says what is known at each stage, and no more', async (t) => {
  const finished_at = '2026-11-20T08:00:05.000Z'
  const end = startTime + 5_000
  const rows: readonly (readonly [name: string, record: OperationRecord, expected: object])[] = [
    ['waiting', waiting, { id, status: 'In progress', link, created_at }],
    ['running', running, { id, status: 'In progress', progress: 0.4, link, created_at }],
    [
      'no link where it cannot be cancelled',
      begun({ cancellable: false }),
      { id, status: 'In progress', created_at },
    ],
    [
      'no link once that was asked for',
      sure(cancel(running, failure, end, retention)),
      { id, status: 'In progress', progress: 0.4, created_at },
    ],
    [
      'a result',
      sure(finish(running, 1, succeeded, end, retention)),
      { id, status: 'Succeeded', progress: 1, created_at, finished_at, result: { sent: 1 } },
    ],
    [
      'a result of null is one',
      sure(finish(running, 1, { status: 'Succeeded', resource: null, result: 'null' }, end, retention)),
      { id, status: 'Succeeded', progress: 1, created_at, finished_at, result: null },
    ],
    [
      'a resource',
      sure(
        finish(running, 1, { status: 'Succeeded', resource: '/v1/payments/8', result: null }, end, retention),
      ),
      { id, status: 'Succeeded', progress: 1, created_at, finished_at, resourceLocation: '/v1/payments/8' },
    ],
    [
      'a failure: a problem, its text once more as message',
      sure(finish(running, 1, failed, end, retention)),
      {
        id,
        status: 'Failed',
        progress: 0.4,
        created_at,
        finished_at,
        error: { type: 'https://example.com/not-retryable', ...failure, message: 'It is paid' },
      },
    ],
  ]
  for (const [name, record, expected] of rows) t.strictSame(document(record), expected, name)
})

t.test('who owns it, what it was started with and how it is run stay inside', async (t) => {
  const told = JSON.stringify(document(running))
  for (const secret of ['owner', 'input', 'run', 'version', 'due', 'payments.retry']) t.notMatch(told, secret)
})
