import type { Test } from 'tap'
import type { MaintenanceStore } from '../../../../src/plugins/maintenance/stores/store.js'

/** What every {@link MaintenanceStore} keeps. `open` gives two views of one new store, as two instances have them. */
export async function keepsMaintenanceContract(
  t: Test,
  open: () => Promise<readonly [MaintenanceStore, MaintenanceStore]>,
): Promise<void> {
  const notice = { until: '2026-11-20T12:00:00.000Z', reason: 'Größeres “move”' }

  await t.test('a new store has no notice', async (t) => {
    for (const store of await open()) t.equal(await store.get(), null)
  })
  await t.test('what one sets, both get, member by member', async (t) => {
    const [one, other] = await open()
    for (const set of [notice, { retryAfter: 120 }, {}]) {
      await one.set(set)
      t.strictSame({ ...(await one.get()) }, set)
      t.strictSame({ ...(await other.get()) }, set)
    }
  })
  await t.test('what one takes away, nobody has', async (t) => {
    const [one, other] = await open()
    await one.set(notice)
    await other.set(null)
    await other.set(null)
    t.equal(await one.get(), null)
    t.equal(await other.get(), null)
  })
  await t.test('what was set does not change with the object that it was set from', async (t) => {
    const [one] = await open()
    const mine: { reason?: string } = { reason: 'move' }
    await one.set(mine)
    delete mine.reason
    t.strictSame({ ...(await one.get()) }, { reason: 'move' })
  })
}
