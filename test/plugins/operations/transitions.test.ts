/** A record: what a store may return, ids, and its transitions: tables, and any interleaving of several processes that compare and set. */
import fc from 'fast-check'
import t from 'tap'
import {
  cancel,
  claim,
  finish,
  isFinal,
  isOperationId,
  isRunning,
  newOperationId,
  type OperationRecord,
  postpone,
  progressOf,
  release,
  renew,
} from '../../../src/plugins/operations/record.js'
import { ownerKey, readAll, recordOf, textOf } from '../../../src/plugins/operations/stores/store.js'
import { begun, claimed, failed, idOf, lease, retention, startTime, succeeded, sure } from './samples.js'

const soon = startTime + 3_000
const later = startTime + 10 * lease
const deadAt = startTime + 1_000 + lease
const until = (time: number) => ({ runUntil: time, dueAt: time })
const next = { ...until(later), takesOver: false }

const waiting = begun()
const running = claimed(waiting, startTime + 1_000)
const cancelling = sure(cancel(running, failed, startTime + 2_000, retention))
const progressed = sure(renew(running, 1, 0.5, soon, later))
const released = sure(release(running, 1, soon, later))
const ended = sure(finish(running, 1, succeeded, soon, retention))

t.test('what each transition changes, and whether that is a change for clients', async (t) => {
  const rows: readonly (readonly [name: string, after: OperationRecord | null, expected: object])[] = [
    ['a start', waiting, { run: 0, notBefore: null, dueAt: startTime + lease, updatedAt: startTime }],
    ['a run begins', running, { run: 1, counted: 1, runUntil: deadAt, updatedAt: startTime + 1_000 }],
    ['another run once it is dead', claim(progressed, later, next), { run: 2, counted: 2, progress: null }],
    ['a heartbeat', progressed, { runUntil: later, dueAt: running.dueAt, progress: 0.5, updatedAt: soon }],
    ['one without progress', renew(progressed, 1, 0.5, soon + 1, later), { updatedAt: soon }],
    ['a heartbeat keeps a cancellation', renew(cancelling, 1, 0.1, soon, later), { isCancelling: true }],
    ['a dead run is cancelled at once', cancel(running, failed, deadAt, retention), failed],
    ['a live one is asked to end', cancelling, { isCancelling: true, run: 1, updatedAt: startTime + 2_000 }],
    ['a run ends it', ended, { status: 'Succeeded', runUntil: null, progress: 1, updatedAt: soon }],
    ['also after a cancellation', finish(cancelling, 1, succeeded, soon, retention), { isCancelling: false }],
    ['a release does not count', released, { runUntil: null, dueAt: later, counted: 0, updatedAt: soon }],
    ['a check is postponed', postpone(waiting, soon, later), { dueAt: later, updatedAt: startTime }],
  ]
  t.notOk('input' in waiting, 'the store keeps the input apart')
  for (const [name, after, expected] of rows) t.match(after, expected, name)
})

t.test('two changes of one version differ in theirs, so that none is lost after a failover', async (t) => {
  const versions = Array.from({ length: 50 }, () => sure(renew(running, 1, 0.5, soon, later)).version)
  t.ok(new Set(versions).size > 45 && Math.min(...versions) > running.version)
})

const transitions = {
  renew: (record, run, now) => renew(record, run, 0.5, now, now + lease),
  finish: (record, run, now) => finish(record, run, succeeded, now, retention),
  fail: (record, run, now) => finish(record, run, failed, now, retention),
  release: (record, run, now) => release(record, run, now, now + lease),
  claim: (record, _run, now) => claim(record, now, { ...until(now + lease), takesOver: false }),
  'take over': (record, _run, now) => claim(record, now, { ...until(now + lease), takesOver: true }),
  cancel: (record, _run, now) => cancel(record, failed, now, retention),
  postpone: (record, _run, now) => postpone(record, now, now + lease),
  'give up': (record, _run, now) => finish(record, null, failed, now, retention),
} satisfies Record<string, (record: OperationRecord, run: number, now: number) => OperationRecord | null>

const ofRun = new Set(['renew', 'finish', 'fail', 'release'])
const processes = 3
const by = fc.nat({ max: processes - 1 })
const kinds = Object.keys(transitions) as (keyof typeof transitions)[]
const milliseconds = fc.constantFrom(0, 1, lease / 3, lease, lease * 12)
// Each process changes the record that it read last.
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), by }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom(...kinds), by }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), milliseconds }) },
)
type Step = typeof step extends fc.Arbitrary<infer Taken> ? Taken : never

t.test('in each interleaving, an operation ends at most once, and only by the run that counts', async (t) => {
  let ends = 0
  function hold(steps: readonly Step[]) {
    let now = startTime
    let stored = begun({ notBefore: startTime + 1 })
    const seen = Array.from({ length: processes }, () => stored)
    const runs = Array.from({ length: processes }, () => 0)
    let handedBack = 0
    for (const taken of steps) {
      if (taken.kind === 'wait') now += taken.milliseconds
      if (taken.kind === 'read') seen[taken.by] = stored
      if (taken.kind === 'wait' || taken.kind === 'read') continue
      const before = sure(seen[taken.by])
      const run = sure(runs[taken.by])
      const after = transitions[taken.kind](before, run, now)
      // Compare and set.
      if (after === null || before.version !== stored.version) continue
      if (isFinal(stored)) throw new Error('a final record changed')
      if (after.version <= stored.version || after.id !== stored.id)
        throw new Error('the version did not rise')
      if (ofRun.has(taken.kind) && (run !== stored.run || stored.runUntil === null)) {
        throw new Error('an earlier run changed the record')
      }
      if (taken.kind === 'claim' || taken.kind === 'take over') {
        const isBusy = taken.kind === 'claim' && isRunning(stored, now)
        if (isBusy || stored.isCancelling || (stored.notBefore ?? 0) > now) throw new Error('it must not run')
        runs[taken.by] = after.run
      }
      const needsNoRun = taken.kind === 'give up' || taken.kind === 'postpone'
      if (needsNoRun && isRunning(stored, now)) throw new Error('a live run was overlooked')
      if (taken.kind === 'cancel' && stored.isCancelling) throw new Error('it is asked once')
      if (taken.kind === 'release') handedBack += 1
      if (after.counted !== after.run - handedBack) throw new Error('miscounted')
      if (isFinal(after)) {
        ends += 1
        if (after.runUntil !== null || after.dueAt !== now + 2 * retention) throw new Error('it is not over')
      } else if (after.isCancelling && after.runUntil === null && !stored.isCancelling) {
        throw new Error('no run can end it')
      }
      stored = after
      seen[taken.by] = after
    }
  }
  fc.assert(fc.property(fc.array(step, { maxLength: 120 }), hold), { numRuns: 2_000 })
  t.ok(ends > 0, `${ends} sequences ended`)
})

t.test('a stored value that is no record of this schema is an error, and left out of lists', async (t) => {
  t.strictSame(readAll(['{', '{}', textOf(ended)]), [{ ...ended }])
  for (const [document, message] of [
    ['{', /JSON/],
    ['{}', /schema undefined; this release reads schema 1/],
    [JSON.stringify({ ...begun(), schema: '1' }), /schema "1";/],
  ] as const)
    t.throws(() => recordOf(document), message)
})

t.test('progress is the nearest number from 0 to 1; other values are none', async (t) => {
  const given = [0, 0.4, 1, -1, 40, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  t.strictSame(given.map(progressOf), [0, 0.4, 1, 0, 1, 1, 0])
  for (const other of [Number.NaN, '0.5', 1n, null, undefined, { valueOf: () => 1 }])
    t.equal(progressOf(other), null)
})

t.test('an id has 128 random bits as hexadecimal digits', async (t) => {
  const ids = Array.from({ length: 1_000 }, newOperationId)
  t.ok(ids.every(isOperationId))
  for (let place = 0; place < 32; place += 1)
    t.equal(new Set(ids.map((id) => id[place])).size, 16, `digit ${place} takes all values`)
  for (const other of ['', idOf(10).toUpperCase(), `${idOf(1)}0`, `0${idOf(1)}`, `${idOf(1)}\n`])
    t.notOk(isOperationId(other), other)
})

t.test('no two owners have the same key', async (t) => {
  const long = 'x'.repeat(201)
  t.equal(ownerKey('ann@example.com'), 'ann@example.com')
  t.match(ownerKey(long), /^sha256:[0-9a-f]{64}$/)
  const owners = ['', 'ann', 'ann ', 'ann\n', 'änn', '\ud800', '\ud801', long, `${long}x`]
  const all = [...owners, ...owners.map(ownerKey)]
  t.equal(new Set(all.map(ownerKey)).size, new Set(all).size)
})
