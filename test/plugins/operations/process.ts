import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { type ConventionsOptions, conventions, problems, serverOptions } from '../../../src/index.js'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationContext,
  type OperationDefinition,
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationStore,
  type OperationsOptions,
  type OperationWorker,
  operations,
} from '../../../src/plugins/operations/index.js'
import { finish } from '../../../src/plugins/operations/record.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { headerOf, injected } from '../../support/problem.js'
import { until } from '../../support/until.js'
import { claimed, failed, lease, retention, start, sure } from './samples.js'

export interface ProcessOptions extends Omit<OperationsOptions, 'store'> {
  readonly clock?: ReturnType<typeof manualClock>
  /** The records, which processes may share. */
  readonly memory?: OperationStore
  /** @default true */
  readonly isShared?: boolean
  /** Name of its operation. */
  readonly name?: string
  readonly definition?: OperationDefinition
  /** @default work that a test ends */
  readonly work?: (context: OperationContext) => unknown
  /** Whether it runs operations at once. */
  readonly works?: boolean
  /** The options of the other plugins. Without them, it has only `problems`. */
  readonly preset?: ConventionsOptions | null
  /** Called before the operation is defined. */
  readonly prepare?: (app: FastifyInstance) => unknown
}

/** One process of a service: an app with the operation `work`, and `POST /v1/works` that starts it with the body. */
export async function openProcess(
  t: Test,
  {
    clock = manualClock(start),
    memory = memoryOperationStore(),
    isShared = true,
    name = 'work',
    definition = {},
    work,
    works = true,
    preset = null,
    prepare,
    ...options
  }: ProcessOptions = {},
) {
  const store = unruly(memory, isShared)
  const { lines, logger } = keepLogs()
  const contexts: OperationContext[] = []
  const held: { resolve(outcome: unknown): void; reject(error: unknown): void }[] = []
  const hold = (context: OperationContext) => {
    contexts.push(context)
    return new Promise<object>((resolve, reject) => held.push({ resolve, reject }))
  }

  const app: FastifyInstance = Fastify({ ...serverOptions(), logger } as FastifyServerOptions)
  const { now, schedule } = clock
  // Two thirds of it are the lease of a run.
  const times = { lease: lease * 1.5, drain: 0, unwind: 0, now, schedule }
  const engine = inProcessEngine({ schedule })
  const own = { store, engine, ...times, ...options }
  if (preset === null) await app.register(problems).register(operations, own)
  else await app.register(conventions, { ...preset, operations: own })
  await prepare?.(app)
  app.operations.define(name, { cancellable: true, ...definition }, (work ?? hold) as typeof hold)
  const config = { operations: { starts: name } }
  app.post('/v1/works', { config }, async (request, reply) => reply.startOperation(name, request.body))
  t.teardown(async () => {
    Object.assign(store, { mood: 'well', moods: {} })
    const closed = app.close()
    await clock.advance(lease)
    await closed
  })
  await app.ready()
  if (works) await app.operations.work()
  await clock.advance(0)

  const ask = async (request: InjectOptions) => injected(await app.inject(request))
  const post = (headers: Record<string, string> = {}) => ask({ method: 'POST', url: '/v1/works', headers })
  const record = async (id: string) => sure(await memory.get(id))
  return {
    app,
    clock,
    store,
    memory,
    lines,
    contexts,
    ask,
    post,
    record,
    /** Starts an operation by a request; its path. */
    async start(headers?: Record<string, string>) {
      const answer = await post(headers)
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.body}`)
      return sure(headerOf(answer, 'location'))
    },
    /** Starts an operation apart from any request; its id. */
    begin: async (options?: Parameters<typeof app.operations.start>[2], input?: unknown) =>
      (await app.operations.start(name, input, options)).id,
    /** Waits for the end of an operation; its document. */
    ended: (path: string) =>
      until(
        async () => sure(await app.operations.find(path.slice(-32))),
        ({ status }) => status !== 'In progress',
        10_000,
        5,
      ),
    /** Ends the work that began first. */
    async end(outcome?: unknown) {
      held.shift()?.resolve(outcome)
      await clock.advance(0)
    },
    async fail(error: unknown) {
      held.shift()?.reject(error)
      await clock.advance(0)
    },
    /** Begins to close. */
    async close() {
      void app.close()
      await clock.advance(0)
    },
    /** Ends an operation as another process does. */
    async endElsewhere(id: string) {
      const before = await record(id)
      const run = before.run === 0 ? null : before.run
      await memory.replace(before, sure(finish(before, run, failed, now(), retention)))
    },
    /** Begins a run of an operation in a process that dies at once. */
    async dieWith(id: string) {
      const before = await record(id)
      await memory.replace(before, claimed(before, now()))
    },
    /** What became of operations, in the log. */
    events: () => lines.flatMap(({ event }) => (event === undefined ? [] : [String(event)])),
    /** The begins and ends of a fault in the log. */
    faultsOf: (part: string) => lines.filter((line) => line.part === part).map(({ msg }) => msg),
  }
}

/** An engine that keeps the jobs that it gets; a test runs them. */
export function handEngine(over: Partial<OperationEngine> = {}) {
  let worker: OperationWorker | null = null
  const engine = {
    ...inProcessEngine(),
    isShared: true,
    jobs: [] as OperationJob[],
    room: Number.POSITIVE_INFINITY,
    async start(given: OperationWorker) {
      worker = given
    },
    async enqueue(job: OperationJob) {
      if (engine.jobs.length >= engine.room) throw new OperationQueueFullError('full')
      engine.jobs.push(job)
    },
    run: (id: string, isLast = false) => sure(worker).run(id, isLast),
    lose: (id: string) => sure(worker).lost(id),
    ...over,
  }
  return engine
}

/** A store whose mood a test sets. */
interface UnrulyStore extends OperationStore {
  /** How it answers: as it should, with an error, never, or with an error after it has done it. */
  mood: 'well' | 'fails' | 'hangs' | 'loses answers'
  /** The moods of single methods, instead of that of the store. */
  readonly moods: Partial<Record<keyof OperationStore, UnrulyStore['mood']>>
  /** How often each method was called. */
  readonly calls: Partial<Record<keyof OperationStore, number>>
}

/** Returns a store as one process sees it, shared with others unless `isShared` is `false`. */
export function unruly(store: OperationStore, isShared = true): UnrulyStore {
  const view = { ...store, isShared, mood: 'well', moods: {}, calls: {} } as UnrulyStore
  for (const [key, method] of Object.entries(store)) {
    if (typeof method !== 'function' || key === 'within') continue
    const name = key as keyof OperationStore
    const moody = async (...given: readonly unknown[]) => {
      view.calls[name] = (view.calls[name] ?? 0) + 1
      const mood = view.moods[name] ?? view.mood
      if (mood === 'fails') throw new Error('connect ECONNREFUSED')
      if (mood === 'hangs') return new Promise(() => {})
      const answer = await method(...given)
      if (mood === 'loses answers') throw new Error('connect ECONNREFUSED')
      return answer
    }
    Object.assign(view, { [name]: moody })
  }
  return view
}
