/** What becomes of a record: tables, and any interleaving of several processes over compare-and-set. */
import fc from 'fast-check'
import t from 'tap'
import { isFinal, type OperationRecord } from '../../../src/plugins/operations/record.js'
import {
  cancel,
  claim,
  finish,
  isRunning,
  putOff,
  release,
  renew,
} from '../../../src/plugins/operations/transitions.js'
import { begun, failed, failure, lease, retention, startTime, succeeded, sure } from './samples.js'

const waiting = begun()
const running = sure(claim(waiting, startTime + 1_000, lease))
const silentAt = startTime + 1_000 + lease
const cancelling = sure(cancel(running, failure, startTime + 2_000, retention))
const released = sure(release(running, 1, startTime + 2_000))
const ended = sure(finish(running, 1, succeeded, startTime + 5_000, retention))

const soon = startTime + 3_000

t.test('a new operation waits: nobody runs it, and it is due after a lease', async (t) => {
  t.match(waiting, { version: 1, status: 'In progress', run: 0, runUntil: null, dueAt: startTime + lease })
  t.notOk(isRunning(waiting, startTime))
})

t.test('what a step does, and where it does nothing', async (t) => {
  type Row = readonly [name: string, after: OperationRecord | null, expected: object | null]
  const rows: readonly Row[] = [
    ['a run begins', running, { run: 1, runUntil: silentAt, dueAt: silentAt, since: startTime + 1_000 }],
    ['no second one beside it', claim(running, soon, lease), null],
    ['none while it is alive to the last moment', claim(running, silentAt - 1, lease), null],
    ['another once it was silent for its lease', claim(running, silentAt, lease), { run: 2, progress: null }],
    ['another after it was given back', claim(released, soon, lease), { run: 2 }],
    ['none of what is being cancelled', claim(cancelling, silentAt, lease), null],
    ['none of what is final', claim(ended, silentAt, lease), null],
    [
      'a sign of life',
      renew(running, 1, 0.5, soon, lease),
      { progress: 0.5, runUntil: soon + lease, dueAt: soon + lease },
    ],
    ['one that is late, and nobody took over', renew(running, 1, null, silentAt + 1, lease), { run: 1 }],
    ['none of another run', renew(running, 2, null, soon, lease), null],
    ['none after it was given back', renew(released, 1, null, soon, lease), null],
    ['none after it was given up', renew(sure(putOff(running, silentAt, lease)), 1, null, soon, lease), null],
    [
      'a sign of life keeps what was asked for',
      renew(cancelling, 1, 0.1, soon, lease),
      { isCancelling: true },
    ],
    ['what waits is cancelled at once', cancel(waiting, failure, soon, retention), { status: 'Failed' }],
    ['what runs is asked to end', cancelling, { status: 'In progress', isCancelling: true, run: 1 }],
    [
      'what went silent is cancelled at once',
      cancel(running, failure, silentAt, retention),
      { error: failure },
    ],
    ['it is asked once', cancel(cancelling, failure, soon, retention), null],
    ['what is final is not cancelled', cancel(ended, failure, soon, retention), null],
    ['a run ends it', ended, { status: 'Succeeded', runUntil: null, input: null, progress: 1 }],
    ['not another run', finish(running, 2, succeeded, soon, retention), null],
    [
      'not an earlier one',
      finish(sure(claim(running, silentAt, lease)), 1, succeeded, silentAt, retention),
      null,
    ],
    ['not a run that gave it back', finish(released, 1, succeeded, soon, retention), null],
    ['not twice', finish(ended, 1, failed, soon, retention), null],
    [
      'a run that is late ends it, where nobody took over',
      finish(running, 1, succeeded, silentAt + 1, retention),
      { status: 'Succeeded' },
    ],
    [
      'what is being cancelled may end well',
      finish(cancelling, 1, succeeded, soon, retention),
      { isCancelling: false },
    ],
    ['nobody ends what runs', finish(running, null, failed, silentAt - 1, retention), null],
    ['nobody ends what is final', finish(ended, null, failed, silentAt, retention), null],
    [
      'what is silent can be ended by anybody',
      finish(running, null, failed, silentAt, retention),
      { error: failure },
    ],
    ['given back, it is due at once', released, { runUntil: null, dueAt: startTime + 2_000, progress: null }],
    ['only by the run that has it', release(running, 2, soon), null],
    ['not what is final', release(ended, 1, soon), null],
    ['what is not due is not put off', putOff(waiting, startTime + lease - 1, lease), null],
    ['nor what runs', putOff(running, silentAt - 1, lease), null],
    ['nor what is final', putOff(ended, Number.MAX_SAFE_INTEGER, lease), null],
  ]
  for (const [name, after, expected] of rows) {
    if (expected === null) t.equal(after, null, name)
    else t.match(after, expected, name)
  }
})

t.test(
  'updatedAt is when the status document changed last: a sign of life alone changes nothing',
  async (t) => {
    const progressed = sure(renew(running, 1, 0.5, soon, lease))
    const alive = sure(renew(progressed, 1, 0.5, soon + 1_000, lease))
    const rows: readonly (readonly [name: string, record: OperationRecord, expected: number])[] = [
      ['new', waiting, startTime],
      ['begun', running, startTime],
      ['progress', progressed, soon],
      ['the same progress', alive, soon],
      ['asked to cancel', cancelling, startTime + 2_000],
      ['given back, without its progress', sure(release(alive, 1, soon + 2_000)), soon + 2_000],
      ['put off, without its progress', sure(putOff(alive, alive.dueAt, lease)), alive.dueAt],
      ['put off', sure(putOff(waiting, waiting.dueAt, lease)), startTime],
      ['ended', ended, startTime + 5_000],
    ]
    for (const [name, record, expected] of rows) t.equal(record.updatedAt, expected, name)
  },
)

t.test(
  'what waits is looked at after as long again, at most ten leases; what went silent, after one',
  async (t) => {
    const waits: number[] = []
    let record = waiting
    for (let look = 0; look < 7; look += 1) {
      const next = sure(putOff(record, record.dueAt, lease))
      waits.push((next.dueAt - record.dueAt) / lease)
      record = next
    }
    t.strictSame(waits, [1, 2, 4, 8, 10, 10, 10])

    const hours = startTime + 5 * 3_600_000
    const long = sure(renew(running, 1, 0.9, hours, lease))
    t.equal(sure(putOff(long, hours + lease, lease)).dueAt, hours + 2 * lease, 'however long it ran')
    const givenBack = sure(release(long, 1, hours))
    t.equal(sure(putOff(givenBack, hours, lease)).dueAt, hours + lease, 'also after it was given back')
  },
)

t.test('the end is kept for the retention, is gone for as long again, and is due after that', async (t) => {
  const finishedAt = startTime + 5_000
  const goneAt = finishedAt + retention
  t.match(ended, { finishedAt, goneAt, dueAt: goneAt + retention, result: '{"sent":1}', error: null })
  t.match(sure(finish(running, 1, failed, finishedAt, retention)), {
    finishedAt,
    goneAt,
    result: null,
    error: failure,
  })
  const cancelled = sure(cancel(waiting, failure, finishedAt, retention))
  t.match(cancelled, { finishedAt, goneAt, dueAt: goneAt + retention, input: null })
})

t.test('records are frozen: a store may keep them as they are', async (t) => {
  for (const record of [waiting, running, cancelling, released, ended]) t.ok(Object.isFrozen(record))
})

/** A step of one of several processes; each works on what it read last, as processes do. */
type Step =
  | { readonly kind: 'read'; readonly by: number }
  | { readonly kind: 'wait'; readonly milliseconds: number }
  | {
      readonly kind: 'claim' | 'renew' | 'finish' | 'fail' | 'cancel' | 'release' | 'sweep' | 'give up'
      readonly by: number
    }

const processes = 3
const by = fc.nat({ max: processes - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), by }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(0, 1, lease / 3, lease, lease * 12),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'claim',
        'renew',
        'finish',
        'fail',
        'cancel',
        'release',
        'sweep',
        'give up',
      ) as fc.Arbitrary<'claim'>,
      by,
    }),
  },
)

t.test(
  'however processes interleave, an operation ends at most once, and only by the run that counts',
  async () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        let now = startTime
        let stored = begun()
        const seen = Array.from({ length: processes }, () => stored)
        const runs = Array.from({ length: processes }, () => 0)
        let final: OperationRecord | null = null

        for (const taken of steps) {
          if (taken.kind === 'wait') {
            now += taken.milliseconds
            continue
          }
          if (taken.kind === 'read') {
            seen[taken.by] = stored
            continue
          }
          const before = sure(seen[taken.by])
          const run = sure(runs[taken.by])
          const after = {
            claim: () => claim(before, now, lease),
            renew: () => renew(before, run, 0.5, now, lease),
            finish: () => finish(before, run, succeeded, now, retention),
            fail: () => finish(before, run, failed, now, retention),
            cancel: () => cancel(before, failure, now, retention),
            release: () => release(before, run, now),
            sweep: () => putOff(before, now, lease),
            'give up': () => finish(before, null, failed, now, retention),
          }[taken.kind]()
          if (after === null) continue
          // Compare and set, by the version alone.
          if (stored.version !== after.version - 1) continue
          const isOfRun = ['renew', 'finish', 'fail', 'release'].includes(taken.kind)
          if (isOfRun && (run !== stored.run || stored.runUntil === null)) return false
          if (taken.kind === 'claim') {
            if (after.run !== stored.run + 1 || isRunning(stored, now) || stored.isCancelling) return false
            runs[taken.by] = after.run
          }
          if (final !== null) return false
          if (after.version !== stored.version + 1 || after.id !== stored.id) return false
          if (isFinal(after)) {
            final = after
            if (after.dueAt !== now + 2 * retention || after.goneAt !== now + retention) return false
            if (after.input !== null || after.runUntil !== null) return false
          } else {
            if (after.dueAt < now && taken.kind !== 'cancel') return false
            // Somebody comes to look after it, a little after its run went silent at the latest.
            if (after.dueAt > now + 10 * lease || (after.runUntil ?? after.dueAt) > after.dueAt) return false
          }
          stored = after
          seen[taken.by] = after
        }
        return final === null || stored === final
      }),
      { numRuns: 2_000 },
    )
  },
)
