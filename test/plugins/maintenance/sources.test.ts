import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { maintenanceSignal } from '../../../src/convention/contexts.js'
import type { MaintenanceNotice } from '../../../src/plugins/maintenance/index.js'
import { readTimeout } from '../../../src/plugins/maintenance/sources.js'
import { manualClock } from '../../support/manual-clock.js'
import { faults, look, memoryStore, serviceWith, start } from './service.js'

const until = '2026-11-20T08:02:00.000Z'

t.test('a planned window begins and ends without an event, with its reason', async (t) => {
  const reason = 'The database moves'
  const { app, clock, status } = await serviceWith(t, {
    windows: [
      { from: '2026-11-20T08:01:00Z', until: new Date(until), reason },
      { from: '2026-11-19T08:00:00Z', until: '2026-11-20T07:00:00Z' },
      { from: '2026-11-20T07:00:00Z', until: '2026-11-20T08:00:30Z' },
      { from: '2026-11-27T08:00:00Z', until: '2026-11-27T09:00:00Z' },
    ],
  })
  t.equal(await status(), 503, 'a window that has begun when the app boots')
  for (const [milliseconds, expected] of [
    [30_000, 200],
    [29_999, 200],
    [1, 503],
  ] as const) {
    await clock.advance(milliseconds)
    t.equal(await status(), expected)
  }
  t.strictSame(app.maintenance.state(), { source: 'window', until, retryAfter: null, reason })
  await app.maintenance.disable()
  t.equal(await status(), 503, 'disable() does not end a window')
  await clock.advance(60_000)
  t.equal(await status(), 200)
  await clock.advance(7 * 86_400_000)
  t.equal(await status(), 503, 'the next one')
})

t.test('there is maintenance while the file exists', async (t) => {
  const file = join(t.testdir(), 'maintenance.json')
  const { app, clock, told, status } = await serviceWith(t, { file, pollInterval: 500 })
  t.equal(await status(), 200)
  await writeFile(file, '')
  await look(clock)
  t.equal(await status(), 503)
  await writeFile(file, JSON.stringify({ until, reason: 'move' }))
  await look(clock)
  t.strictSame(app.maintenance.state(), { source: 'file', until, retryAfter: null, reason: 'move' })
  const booted = await serviceWith(t, { file })
  t.equal(await booted.status(), 503, 'one that exists at boot is in effect for the first request')
  booted.clock.skip(120_000)
  await look(booted.clock)
  t.equal(await booted.status(), 200, 'until its end, though the file exists')
  await rm(file)
  await look(clock)
  t.equal(await status(), 200)
  t.strictSame(told(faults), [])
})

t.test('an invalid notice in a file is logged once, and is maintenance without an end', async (t) => {
  const none = { until: null, retryAfter: null, reason: null }
  const long = 'x'.repeat(500)
  const both = /retryAfter is not an integer from 1 to 604800; reason is not a string/
  const rows: readonly (readonly [content: string | null, state: object, fault?: RegExp])[] = [
    ['\n {"until":"2026-11-20T09:02:00+01:00"} \n', { until }],
    ['{"retryAfter":604800,"owner":"ops"}', { retryAfter: 604_800 }],
    [JSON.stringify(none), none],
    [`{"reason":"${long}x"}`, { reason: `${long}…` }],
    ['{"until":', none, /not JSON/],
    ['"soon"', none, /not an object/],
    ['{"until":"tonight"}', none, /until is not an RFC 3339/],
    ['{"retryAfter":0,"reason":7}', none, both],
    ['{"retryAfter":604801}', none, /retryAfter is not an integer/],
    [`{"reason":"${'x'.repeat(70_000)}"}`, none, /more than 65536 bytes/],
    [null, none, /not a file/],
  ]
  const folder = t.testdir({})
  for (const [index, [content, state, fault]] of rows.entries()) {
    const file = join(folder, String(index))
    await (content === null ? mkdir(file) : writeFile(file, content))
    const { app, clock, told, status } = await serviceWith(t, { file })
    for (let reads = 0; reads < 2; reads += 1) await look(clock)
    t.equal(await status(), 503, file)
    t.strictSame(app.maintenance.state(), { source: 'file', ...none, ...state }, file)
    t.equal(told(faults).length, fault === undefined ? 0 : 1, file)
    t.match(told(faults).join(), fault ?? '', file)
  }
})

t.test('if the file system fails, the last known state stays, and the log has it once', async (t) => {
  const folder = t.testdir({ file: '' })
  for (const [name, errors] of [
    // No file system takes this name, so the error is not that of an absent file.
    ['x'.repeat(5000), 1],
    // A file below a path that is not a folder does not exist.
    [join('file', 'maintenance'), 0],
  ] as const) {
    const { clock, told, status } = await serviceWith(t, { file: join(folder, name) })
    await look(clock)
    t.equal(await status(), 200)
    t.equal(told(faults).length, errors)
  }
})

t.test('what one instance enables or disables, the other has after its next read', async (t) => {
  const store = memoryStore()
  const clock = manualClock(start)
  const open = () => serviceWith(t, { store }, { clock })
  const [one, other] = [await open(), await open()]
  await one.app.maintenance.enable({ until, reason: 'move' })
  t.equal(await one.status(), 503, 'here at once')
  t.equal(await other.status(), 200)
  await look(clock)
  t.equal(await other.status(), 503)
  t.strictSame(other.app.maintenance.state(), one.app.maintenance.state())
  t.equal(await (await open()).status(), 503, 'an instance that boots has it for the first request')
  await other.app.maintenance.disable()
  await look(clock)
  t.equal(await one.status(), 200)
})

t.test('while the store is unreachable, the last known state stays, with one log line', async (t) => {
  const store = memoryStore()
  const { get } = store
  const { app, clock, told, status } = await serviceWith(t, { store })
  await app.maintenance.enable()
  for (const failing of [() => Promise.reject(new Error('gone')), () => new Promise<null>(() => {})]) {
    await store.set(null)
    store.get = failing
    await clock.advance(5 * readTimeout)
    t.equal(await status(), 503)
    store.get = get
    await clock.advance(3_000)
    t.equal(await status(), 200, 'the state in the store, once it is reachable')
    await app.maintenance.enable()
  }
  t.equal(told(faults).length, 2, 'once for each time')
  t.equal(told(/reachable again/).length, 2)
})

t.test('a store that does not answer at boot delays it by two seconds at most', async (t) => {
  const clock = manualClock(start)
  const get = () => new Promise<null>(() => {})
  const booting = serviceWith(t, { store: { ...memoryStore(), get } }, { clock })
  while (clock.waiting() === 0) await setImmediate()
  await clock.advance(readTimeout)
  t.equal(await (await booting).status(), 200)
})

t.test('enable() with a store that fails rejects, and nothing changes', async (t) => {
  const store = memoryStore()
  const { set } = store
  const { app, status } = await serviceWith(t, { store })
  store.set = () => Promise.reject(new Error('gone'))
  await t.rejects(app.maintenance.enable(), { message: 'gone' })
  t.equal(await status(), 200)
  store.set = set
  await app.maintenance.enable()
  t.equal(await status(), 503, 'and it can be tried again')
})

type Notice = MaintenanceNotice | null

/** Lets the next read of a store wait. Returns what answers it. */
function holdRead(store: ReturnType<typeof memoryStore>) {
  const waiting: ((answer: Notice | Promise<Notice>) => void)[] = []
  store.get = () => new Promise((resolve) => void waiting.push(resolve))
  return (answer: Notice | Promise<Notice>) => waiting.shift()?.(answer)
}

t.test('a value that was read before a write does not undo it', async (t) => {
  const store = memoryStore()
  const { app, clock, status } = await serviceWith(t, { store })
  const answer = holdRead(store)
  await clock.advance(1000)
  await app.maintenance.enable()
  answer(null)
  await clock.advance(1)
  t.equal(await status(), 503)
})

t.test('a read in progress when the app closes has no effect, and is the last one', async (t) => {
  for (const answered of [async () => ({}), () => Promise.reject(new Error('gone'))]) {
    const store = memoryStore()
    const { app, clock, told } = await serviceWith(t, { store })
    const answer = holdRead(store)
    await clock.advance(1000)
    await app.close()
    answer(answered())
    await clock.advance(10_000)
    t.equal(clock.waiting(), 0)
    t.equal(app.maintenance.state(), null)
    t.strictSame(told(/0 maintenance/), [], 'no change, and no outage')
  }
})

t.test('enable() and disable() take effect in their order, however slow the store is', async (t) => {
  const store = memoryStore()
  const { set } = store
  const { app, status } = await serviceWith(t, { store })
  const answers: (() => void)[] = []
  store.set = async (notice) => {
    await new Promise<void>((resolve) => answers.push(resolve))
    await set(notice)
  }
  const both = [app.maintenance.enable(), app.maintenance.disable()]
  for (const [index, expected] of [503, 200].entries()) {
    while (answers.length === index) await setImmediate()
    t.equal(answers.length, index + 1, 'one after the other')
    answers[index]?.()
    await both[index]
    t.equal(await status(), expected)
  }
  t.equal(await store.get(), null)
})

t.test('an invalid notice in a store means maintenance, with its valid members', async (t) => {
  const store = memoryStore()
  await store.set({ until: 7, reason: 'move' } as object)
  const { app, clock, told } = await serviceWith(t, { store })
  await look(clock)
  t.match(app.maintenance.state(), { source: 'switch', until: null, reason: 'move' })
  t.equal(told(faults).length, 1)
})

t.test('of several sources, the one that ends last wins', async (t) => {
  const file = join(t.testdir({ maintenance: JSON.stringify({ until }) }), 'maintenance')
  const { app } = await serviceWith(t, { file, windows: [{ from: start, until: '2026-11-20T08:01:00Z' }] })
  t.match(app.maintenance.state(), { source: 'file', until })
  await app.maintenance.enable()
  t.match(app.maintenance.state(), { source: 'switch', until: null })
  await app.maintenance.disable()
  t.match(app.maintenance.state(), { source: 'file', until })
})

t.test('a closed app has no timers, for reads or for windows', async (t) => {
  const { app, clock } = await serviceWith(t, {
    store: memoryStore(),
    file: join(t.testdir(), 'none'),
    windows: [{ from: until, until: '2026-11-20T09:00:00Z' }],
  })
  t.equal(clock.waiting(), 3)
  await app.close()
  t.equal(clock.waiting(), 0)
  clock.skip(120_000)
  t.match(app.maintenance.state(), { source: 'window' })
  t.equal(clock.waiting(), 0, 'nor after the state was read')
})

t.test('a window begins within a minute after the system clock is set ahead', async (t) => {
  const clock = manualClock(start)
  let ahead = 0
  const windows = [{ from: '2026-11-30T08:00:00Z', until: '2026-12-01T08:00:00Z' }]
  const { told } = await serviceWith(t, { now: () => clock.now() + ahead, windows }, { clock })
  ahead = 10 * 86_400_000
  await clock.advance(59_999)
  t.equal(told(/: on$/).length, 0)
  await clock.advance(1)
  t.equal(told(/: on$/).length, 1)
})

t.test('other plugins learn when maintenance begins and ends, whatever its source', async (t) => {
  for (const mode of ['report', 'off'] as const)
    t.notOk(maintenanceSignal.get((await serviceWith(t, { mode })).app), `${mode} refuses nothing`)
  const windows = [{ from: '2026-11-20T08:01:00Z', until }]
  const { app, clock } = await serviceWith(t, { windows })
  const signal = maintenanceSignal.get(app)
  if (signal === undefined) throw new Error('no signal')
  const calls: boolean[] = []
  const stopListening = signal.onChange((isActive) => calls.push(isActive))
  const enableUnheard = () => {
    stopListening()
    return app.maintenance.enable()
  }
  for (const [about, act, expected] of [
    ['enable()', () => app.maintenance.enable(), [true]],
    ['another reason', () => app.maintenance.enable({ reason: 'move' }), []],
    ['disable()', () => app.maintenance.disable(), [false]],
    ['the window begins', () => clock.advance(60_000), [true]],
    ['the window ends, though no timer has run', () => clock.skip(60_000), [false]],
    ['the listener was removed', enableUnheard, []],
  ] as const) {
    await act()
    t.equal(signal.isActive(), app.maintenance.state() !== null, about)
    t.strictSame(calls.splice(0), expected, about)
  }
})
