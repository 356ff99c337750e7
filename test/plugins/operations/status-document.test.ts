/** The status document of an operation. */
import t from 'tap'
import type { OperationRecord } from '../../../src/plugins/operations/record.js'
import { statusDocument } from '../../../src/plugins/operations/status-document.js'
import { cancel, finish, renew } from '../../../src/plugins/operations/transitions.js'
import {
  begun,
  claimed,
  failed,
  failure,
  idOf,
  lease,
  retention,
  startTime,
  succeeded,
  sure,
} from './samples.js'

const id = idOf(1)
const href = `/v1/operations/${id}`
const link = { rel: 'cancel', method: 'DELETE', href }
const created_at = '2026-11-20T08:00:00.000Z'
const finished_at = '2026-11-20T08:00:05.000Z'
const end = startTime + 5_000
const running = sure(renew(claimed(begun()), 1, 0.4, startTime, startTime + lease))
const endedBy = (given: typeof failed) => sure(finish(running, 1, given, end, retention))

const document = (record: OperationRecord) =>
  statusDocument(record, { href, typeBase: 'https://example.com/', readResult: JSON.parse })

t.test('the document of each stage', async (t) => {
  const inProgress = { id, status: 'In progress', created_at }
  const done = { id, status: 'Succeeded', progress: 1, created_at, finished_at }
  const of = (resource: string | null, result: string | null) =>
    endedBy({ status: 'Succeeded', resource, result })
  const rows: readonly (readonly [name: string, record: OperationRecord, expected: object])[] = [
    ['waiting', begun(), { ...inProgress, link }],
    ['running', running, { ...inProgress, progress: 0.4, link }],
    ['not cancellable', begun({ cancellable: false }), inProgress],
    ['being cancelled', sure(cancel(running, failure, end, retention)), { ...inProgress, progress: 0.4 }],
    ['a result', endedBy(succeeded), { ...done, result: { sent: 1 } }],
    ['a result of null', of(null, 'null'), { ...done, result: null }],
    ['a resource', of('/v1/payments/8', null), { ...done, resourceLocation: '/v1/payments/8' }],
    [
      'a failure: a problem, with its text also as `message`',
      endedBy(failed),
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

t.test('owner, input, name, ids of the request and the state of the run are not shown', async (t) => {
  const shown = JSON.stringify(document({ ...running, requestId: 'req-1', traceparent: '00-1' }))
  for (const secret of ['owner', 'input', 'run', 'version', 'due', 'payments.retry', 'req-1', '00-1']) {
    t.notMatch(shown, secret)
  }
})
