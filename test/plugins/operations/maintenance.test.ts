/** Work pauses while the plugin `maintenance` refuses requests. */
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { maintenance, problems, serverOptions } from '../../../src/index.js'
import {
  inProcessEngine,
  type OperationEngine,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { start } from './samples.js'

async function service(t: Test, options: OperationsOptions = {}, mode: 'enforce' | 'report' = 'enforce') {
  const clock = manualClock(start)
  const logs = keepLogs('error')
  const app: FastifyInstance = Fastify({ ...serverOptions(), logger: logs.logger })
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(operations, {
    now: clock.now,
    schedule: clock.schedule,
    drain: 0,
    unwind: 0,
    ...options,
  })
  await app.register(maintenance, { mode, now: clock.now, schedule: clock.schedule })
  const ends: (() => void)[] = []
  const runs: string[] = []
  app.operations.define('work', ({ operationId }) => {
    runs.push(operationId)
    return new Promise<void>((resolve) => {
      ends.push(resolve)
    })
  })
  const statusOf = async (id: string) => (await app.operations.find(id))?.status
  return {
    app,
    clock,
    runs,
    ends,
    logs,
    statusOf,
    begin: async () => (await app.operations.start('work')).id,
  }
}

t.test('no run begins while there is maintenance; those that run go on; others begin later', async (t) => {
  const { app, clock, runs, ends, begin, statusOf } = await service(t)
  await app.ready()
  const first = await begin()
  await clock.advance(0)
  t.strictSame(runs, [first])
  await app.maintenance.enable({ retryAfter: 60 })
  const second = await begin()
  ends[0]?.()
  // The sweeper goes on meanwhile.
  await clock.advance(60_000)
  t.equal(await statusOf(first), 'Succeeded')
  t.strictSame(runs, [first])
  await app.maintenance.disable()
  await clock.advance(0)
  t.strictSame(runs, [first, second])
})

t.test('an app that gets ready in maintenance begins no run', async (t) => {
  const { app, clock, runs, begin } = await service(t)
  app.addHook('onReady', async () => void (await app.maintenance.enable({ retryAfter: 60 })))
  await app.ready()
  const id = await begin()
  await clock.advance(60_000)
  t.strictSame(runs, [])
  await app.maintenance.disable()
  await clock.advance(0)
  t.strictSame(runs, [id])
})

t.test('in a mode that refuses nothing, work goes on', async (t) => {
  const { app, clock, runs, begin } = await service(t, {}, 'report')
  await app.ready()
  await app.maintenance.enable({ retryAfter: 60 })
  const id = await begin()
  await clock.advance(0)
  t.strictSame(runs, [id])
})

t.test('an engine that cannot pause is in the log', async (t) => {
  const engine: OperationEngine = {
    ...inProcessEngine(),
    pause: async () => {
      throw new Error('no connection')
    },
  }
  const { app, clock, logs } = await service(t, { engine })
  await app.ready()
  await app.maintenance.enable({ retryAfter: 60 })
  await clock.advance(0)
  t.match(logs.lines, [{ msg: 'operations: work cannot pause', err: { message: 'no connection' } }])
})
