import type { Test } from 'tap'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import type { OperationStore } from '../../../../src/plugins/operations/stores/store.js'
import { cancel, claim, renew } from '../../../../src/plugins/operations/transitions.js'
import { ended, started, time } from './records.js'
import type { Release01 } from './release-01.js'

const failure = { code: 'operation-cancelled', title: 'Cancelled', status: 409, detail: '' }

/** Tests that a store and release 0.1 go on with each other's records of form 1. */
export async function worksBesideRelease01(t: Test, store: OperationStore, old: Release01): Promise<void> {
  const run = { runUntil: time + 100, dueAt: time + 100, takesOver: false }
  const form1 = (members: Partial<OperationRecord> = {}) =>
    started({ schema: 1, owner: '42', input: '{"a":1}', inputLength: 7, ...members })
  /** The members that release 0.1 knows; it leaves the others as they are. */
  const next = (record: OperationRecord, change: Partial<OperationRecord>): OperationRecord => ({
    ...record,
    ...change,
    version: record.version + 1,
  })

  await t.test('release 0.1 goes on with what this release wrote', async (t) => {
    const record = form1()
    t.equal(await store.create(record, null), true)
    t.same(await old.due(time, 10), [record.id])
    const seen = await old.get(record.id)
    t.equal(seen.input, '{"a":1}')
    t.equal(await old.replace(next(seen, { run: 1, runUntil: time + 50, dueAt: time + 50 })), true)
    t.equal(await old.replace(next(seen, { run: 1 })), false)

    const found = await store.get(record.id)
    const renewed = found === null ? null : renew(found, 1, 0.5, time, time + 60)
    if (found === null || renewed === null) throw new Error('no run')
    t.equal(await store.replace(found, renewed), true)
    const again = await old.get(record.id)
    t.match(again, { version: renewed.version, progress: 0.5, input: '{"a":1}' })
    t.equal(
      await old.replace(next(again, { ...ended({ ...again, runUntil: null }, '{}'), input: null })),
      true,
    )
    t.match(await store.get(record.id), { status: 'Succeeded', result: '{}', owner: '42' })
    t.same(await store.takeDue(time + 1_000, time + 2_000, 10), [])
    t.same(await store.usage('42'), { operations: 0, length: 0 })
    t.same((await store.list('42', { status: 'Succeeded', limit: 10 })).length, 1)
  })

  await t.test('this release goes on with what release 0.1 wrote', async (t) => {
    const { access, inputLength, uncounted, retries, notBefore, priority, requestId, traceparent, ...rest } =
      form1()
    const record = rest as OperationRecord
    t.equal(await old.create(record), true)
    const found = await store.get(record.id)
    t.match(found, { access: 'owner', inputLength: 7, uncounted: 0, input: '{"a":1}' })
    t.same(await store.takeDue(time, time + 10, 10), [found])
    t.same(await old.due(time, 10), [], 'release 0.1 does not check it at the same time')
    t.same(await old.due(time + 10, 10), [record.id])
    const claimed = found === null ? null : claim(found, time, run)
    if (found === null || claimed === null) throw new Error('no run')
    t.equal(await store.replace(found, claimed), true)
    t.equal(await old.replace(next(record, { isCancelling: true })), false, 'it was the version before')
    const cancelling = cancel(claimed, failure, time, 1_000)
    if (cancelling === null) throw new Error('no cancellation')
    t.equal(await store.replace(claimed, cancelling), true)
    t.match(await old.get(record.id), { isCancelling: true, run: 1 })
    const final = ended({ ...cancelling, runUntil: null }, '{"b":2}')
    t.equal(await store.replace(cancelling, final), true)
    t.match(await old.get(record.id), { status: 'Succeeded', result: '{"b":2}', input: null })
    t.notOk((await old.due(time + 1_000, 10)).includes(record.id))
    t.equal(await store.remove(final), true)
  })

  await t.test('release 0.1 does not see records of form 2 among those due', async (t) => {
    const record = started({ owner: '42' })
    await store.create(record, '{"a":1}')
    t.same(await old.due(time, 10), [])
    t.equal((await store.takeDue(time, time + 1, 10)).length, 1)
    await store.remove(record)
  })
}
