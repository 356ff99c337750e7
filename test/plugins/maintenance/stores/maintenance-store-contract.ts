import type { Test } from 'tap'
import type { MaintenanceStore } from '../../../../src/plugins/maintenance/index.js'

/** Tests the contract of a {@link MaintenanceStore}. `open` returns two views of one new store, as two instances have. */
export async function keepsMaintenanceContract(
  t: Test,
  open: () => Promise<readonly [MaintenanceStore, MaintenanceStore]>,
): Promise<void> {
  const notice = { until: '2026-11-20T12:00:00.000Z', reason: 'Größeres “move”' }

  await t.test('a new store has no notice', async (t) => {
    for (const store of await open()) t.equal(await store.get(), null)
  })
  await t.test('both views get what one sets, member by member', async (t) => {
    const [one, other] = await open()
    for (const set of [notice, { retryAfter: 120 }, {}]) {
      await one.set(set)
      t.strictSame({ ...(await one.get()) }, set)
      t.strictSame({ ...(await other.get()) }, set)
    }
  })
  await t.test('both views get null after one removes the notice', async (t) => {
    const [one, other] = await open()
    await one.set(notice)
    await other.set(null)
    await other.set(null)
    t.equal(await one.get(), null)
    t.equal(await other.get(), null)
  })
  await t.test('the stored notice does not change with the object that was passed', async (t) => {
    const [one] = await open()
    const mine: { reason?: string } = { reason: 'move' }
    await one.set(mine)
    delete mine.reason
    t.strictSame({ ...(await one.get()) }, { reason: 'move' })
  })
}
