/** The life cycle of operations in the log, and on a channel of `node:diagnostics_channel`. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import Fastify from 'fastify'
import t from 'tap'
import { eventsOf, operationChannel } from '../../../src/plugins/operations/events.js'
import { interrupted } from '../../../src/plugins/operations/failures.js'
import { finish } from '../../../src/plugins/operations/record.js'
import { keepLogs, levels } from '../../support/logs.js'
import { begun, claimed, failed, idOf, retention, startTime, succeeded, sure } from './samples.js'

const waiting = begun({ requestId: 'req-1' })
const running = claimed(waiting)
const ids = { operationId: idOf(1), operation: 'payments.retry', reqId: 'req-1' }
const end = (given: typeof failed) => sure(finish(running, 1, given, startTime, retention))

t.test('each event is a line of the log with its ids, and a message of the channel', async (t) => {
  const { logger, lines } = keepLogs()
  const emit = eventsOf(Fastify({ logger }).log)
  const messages: unknown[] = []
  const listener = (message: unknown) => void messages.push(message)
  subscribe(operationChannel, listener)
  t.teardown(() => unsubscribe(operationChannel, listener))

  const error = new Error('a deadlock')
  const gaveUp = end(interrupted)
  const rows = [
    ['start', waiting, 'info', { run: 0 }],
    ['run', running, 'debug', { run: 1 }],
    ['take-over', claimed(running, startTime, true), 'warn', { run: 2 }],
    ['retry', running, 'warn', { err: { message: 'a deadlock' } }],
    ['release', running, 'info', { run: 1 }],
    ['end', end(succeeded), 'info', { status: 'Succeeded' }],
    ['end', end(failed), 'info', { status: 'Failed', code: 'not-retryable' }],
    ['give-up', gaveUp, 'error', { run: 1 }],
  ] as const
  for (const [event, record, level, fields] of rows) {
    const given = event === 'retry' ? error : undefined
    emit(event, record, given)
    const msg = `operations: 'payments.retry': ${event}`
    t.match(lines.at(-1), { level: levels[level], event, msg, ...ids, ...fields })
    t.strictSame(messages.at(-1), { event, record, ...(given && { error }) })
  }
})
