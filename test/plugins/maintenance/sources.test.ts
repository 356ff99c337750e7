/** Who says that there is maintenance: windows, a file, a store that instances share (decisions §6). */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  type MaintenanceNotice,
  type MaintenanceOptions,
  type MaintenanceStore,
  maintenance,
  memoryMaintenanceStore,
} from '../../../src/plugins/maintenance/index.js'
import { patience } from '../../../src/plugins/maintenance/poller.js'
import { keepLogs, type Logs, levels } from '../../support/logs.js'
import { type ManualClock, manualClock } from '../../support/manual-clock.js'

const start = '2026-11-20T08:00:00.000Z'
const until = '2026-11-20T08:02:00.000Z'

interface Served {
  readonly app: FastifyInstance
  readonly clock: ManualClock
  readonly logs: Logs
  status(): Promise<number>
}

async function serviceWith(
  t: Test,
  options: MaintenanceOptions,
  clock = manualClock(start),
): Promise<Served> {
  const logs = keepLogs()
  const app = Fastify({ logger: logs.logger })
  await app.register(maintenance, { now: clock.now, schedule: clock.schedule, ...options })
  app.get('/', async () => ({}))
  t.teardown(() => app.close())
  await app.ready()
  return { app, clock, logs, status: async () => (await app.inject('/')).statusCode }
}

function toldAbove(logs: Logs, level: keyof typeof levels): (string | undefined)[] {
  return logs.lines
    .filter((line) => line.level >= levels[level] && line.msg !== 'maintenance: on')
    .map(({ msg }) => msg)
}

t.test('a planned window begins and ends by itself, with its reason', async (t) => {
  const reason = 'The database moves'
  const { app, clock, status } = await serviceWith(t, {
    windows: [
      { from: '2026-11-20T08:01:00Z', until: new Date(until), reason },
      { from: '2026-11-19T08:00:00Z', until: '2026-11-19T09:00:00Z' },
      { from: '2026-11-27T08:00:00Z', until: '2026-11-27T09:00:00Z' },
    ],
  })
  t.equal(await status(), 200)
  await clock.advance(59_999)
  t.equal(await status(), 200)
  await clock.advance(1)
  t.equal(await status(), 503)
  t.strictSame(app.maintenance.state(), { source: 'window', until, retryAfter: null, reason })
  await app.maintenance.disable()
  t.equal(await status(), 503, 'disable() ends what enable() began')
  await clock.advance(60_000)
  t.equal(await status(), 200)
  await clock.advance(7 * 86_400_000)
  t.equal(await status(), 503, 'the next one')
})

t.test('a window that has begun when the app boots holds from the first request', async (t) => {
  const { status } = await serviceWith(t, { windows: [{ from: '2026-11-20T07:00:00Z', until }] })
  t.equal(await status(), 503)
})

t.test('a file: there is maintenance while it is there', async (t) => {
  const file = join(t.testdir(), 'maintenance.json')
  const { app, clock, logs, status } = await serviceWith(t, { file, pollInterval: 500 })
  t.equal(await status(), 200)
  await writeFile(file, '')
  await look(clock)
  t.equal(await status(), 503)
  t.strictSame(app.maintenance.state(), { source: 'file', until: null, retryAfter: null, reason: null })
  await writeFile(file, JSON.stringify({ until, reason: 'move' }))
  await look(clock)
  t.strictSame(app.maintenance.state(), { source: 'file', until, retryAfter: null, reason: 'move' })
  await rm(file)
  await look(clock)
  t.equal(await status(), 200)
  t.strictSame(toldAbove(logs, 'warn'), [])
})

t.test('a file that is there at boot counts from the first request, and its end is its end', async (t) => {
  const file = join(t.testdir({ maintenance: JSON.stringify({ until }) }), 'maintenance')
  const { clock, status } = await serviceWith(t, { file })
  t.equal(await status(), 503)
  clock.skip(120_000)
  t.equal(await status(), 200, 'though the file is there')
  await look(clock)
  t.equal(await status(), 200)
})

t.test('a file that is no notice means maintenance without an end; the log tells once why', async (t) => {
  const folder = t.testdir({})
  const contents: readonly (readonly [content: string | null, told: RegExp])[] = [
    ['{"until":', /no JSON/],
    ['"soon"', /no object/],
    ['{"until":"tonight"}', /until is no RFC 3339/],
    [`{"reason":"${'x'.repeat(70_000)}"}`, /more than 65536 bytes/],
    [null, /no file/],
  ]
  for (const [index, [content, told]] of contents.entries()) {
    const file = join(folder, String(index))
    if (content === null) await mkdir(file)
    else await writeFile(file, content)
    const { app, clock, logs, status } = await serviceWith(t, { file })
    await look(clock)
    await look(clock)
    t.equal(await status(), 503, file)
    t.match(app.maintenance.state(), { source: 'file', until: null }, file)
    const warnings = toldAbove(logs, 'warn')
    t.equal(warnings.length, 1, file)
    t.match(warnings[0], told, file)
  }
})

t.test('a file that cannot be looked for: what it said last holds, and the log tells once', async (t) => {
  const folder = t.testdir({ there: '' })
  // A name that no file system has: looking for it fails otherwise than by its absence.
  const file = join(folder, 'x'.repeat(5000))
  const { clock, logs, status } = await serviceWith(t, { file })
  await look(clock)
  t.equal(await status(), 200)
  t.strictSame(toldAbove(logs, 'error').length, 1)
})

t.test('two instances with one store: what one enables, the other keeps a moment later', async (t) => {
  const store = memoryMaintenanceStore()
  const clock = manualClock(start)
  const one = await serviceWith(t, { store }, clock)
  const other = await serviceWith(t, { store }, clock)
  await one.app.maintenance.enable({ until, reason: 'move' })
  t.equal(await one.status(), 503, 'here at once')
  t.equal(await other.status(), 200)
  await look(clock)
  t.equal(await other.status(), 503)
  t.strictSame(other.app.maintenance.state(), one.app.maintenance.state())
  await other.app.maintenance.disable()
  await look(clock)
  t.equal(await one.status(), 200)

  await one.app.maintenance.enable()
  t.equal(
    await (await serviceWith(t, { store }, clock)).status(),
    503,
    'one that boots knows it from the start',
  )
})

/** A store whose answers a test gives. */
function heldStore() {
  const held: { get: (() => Promise<MaintenanceNotice | null>) | null; set: () => Promise<void> } = {
    get: null,
    set: async () => {},
  }
  const kept = memoryMaintenanceStore()
  const store: MaintenanceStore = {
    get: () => (held.get ?? kept.get)(),
    set: async (notice) => {
      await held.set()
      await kept.set(notice)
    },
  }
  return { store, held, kept }
}

t.test(
  'a store that cannot be reached: the last known state holds, told once, until it is back',
  async (t) => {
    const { store, held, kept } = heldStore()
    const { app, clock, logs, status } = await serviceWith(t, { store })
    await app.maintenance.enable()
    for (const get of [() => Promise.reject(new Error('gone')), () => new Promise<null>(() => {})]) {
      await kept.set(null)
      held.get = get
      await clock.advance(5 * patience)
      t.equal(await status(), 503)
      held.get = null
      await clock.advance(3_000)
      t.equal(await status(), 200, 'what it says once it is back')
      await app.maintenance.enable()
    }
    t.equal(toldAbove(logs, 'error').length, 2, 'once for each time')
    t.equal(logs.lines.filter(({ msg }) => msg?.includes('reached again')).length, 2)
  },
)

t.test('a store that does not answer at boot delays it by two seconds at most', async (t) => {
  const clock = manualClock(start)
  const store: MaintenanceStore = { get: () => new Promise(() => {}), set: async () => {} }
  const booting = serviceWith(t, { store }, clock)
  while (clock.waiting() === 0) await setImmediate()
  await clock.advance(patience)
  t.equal(await (await booting).status(), 200)
})

t.test('enable() with a store that fails rejects, and nothing changes', async (t) => {
  const { store, held } = heldStore()
  const { app, status } = await serviceWith(t, { store })
  held.set = () => Promise.reject(new Error('gone'))
  await t.rejects(app.maintenance.enable(), { message: 'gone' })
  t.equal(await status(), 200)
  held.set = async () => {}
  await app.maintenance.enable()
  t.equal(await status(), 503, 'and it can be tried again')
})

t.test('what was read before something was written does not undo it', async (t) => {
  const { store, held } = heldStore()
  const { app, clock, status } = await serviceWith(t, { store })
  let answer: (notice: null) => void = () => {}
  held.get = () =>
    new Promise((resolve) => {
      answer = resolve
    })
  await clock.advance(1000)
  await app.maintenance.enable()
  answer(null)
  await clock.advance(1)
  t.equal(await status(), 503)
})

t.test('enable() and disable() hold in the order of their calls, however long the store takes', async (t) => {
  const { store, held, kept } = heldStore()
  const { app, status } = await serviceWith(t, { store })
  const answers: (() => void)[] = []
  held.set = () => new Promise((resolve) => answers.push(resolve))
  const both = [app.maintenance.enable(), app.maintenance.disable()]
  while (answers.length === 0) await setImmediate()
  t.equal(answers.length, 1, 'one after the other')
  answers[0]?.()
  await both[0]
  t.equal(await status(), 503)
  while (answers.length === 1) await setImmediate()
  answers[1]?.()
  await both[1]
  t.equal(await status(), 200)
  t.equal(await kept.get(), null)
})

t.test('what a store says that is no notice means maintenance, without what cannot be used', async (t) => {
  const store = {
    get: async () => ({ until: 7, reason: 'move' }) as unknown as MaintenanceNotice,
    set: async () => {},
  }
  const { app, clock, logs } = await serviceWith(t, { store })
  await look(clock)
  t.match(app.maintenance.state(), { source: 'switch', until: null, reason: 'move' })
  t.equal(toldAbove(logs, 'warn').length, 1)
})

t.test('of several the one that ends last counts', async (t) => {
  const file = join(t.testdir({ maintenance: JSON.stringify({ until, reason: 'file' }) }), 'maintenance')
  const { app } = await serviceWith(t, {
    file,
    windows: [{ from: start, until: '2026-11-20T08:01:00Z', reason: 'window' }],
  })
  t.match(app.maintenance.state(), { source: 'file', until })
  await app.maintenance.enable()
  t.match(app.maintenance.state(), { source: 'switch', until: null })
  await app.maintenance.disable()
  t.match(app.maintenance.state(), { source: 'file', until })
})

t.test('a closed app looks no more, and waits for no window', async (t) => {
  const { app, clock } = await serviceWith(t, {
    store: memoryMaintenanceStore(),
    file: join(t.testdir(), 'none'),
    windows: [{ from: until, until: '2026-11-20T09:00:00Z' }],
  })
  t.equal(clock.waiting(), 3)
  await app.close()
  t.equal(clock.waiting(), 0)
})

/** Lets the time pass until the next look, and waits for its end: while it lasts, the timer of its patience waits. */
async function look(clock: ManualClock): Promise<void> {
  await clock.advance(1000)
  while (clock.waiting(patience) > 0) await setImmediate()
}
