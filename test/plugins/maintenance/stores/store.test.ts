import t from 'tap'
import { memoryMaintenanceStore } from '../../../../src/plugins/maintenance/stores/store.js'
import { keepsMaintenanceContract } from './maintenance-store-contract.js'

t.test('in memory: the contract of all maintenance stores', (t) =>
  keepsMaintenanceContract(t, async () => {
    const store = memoryMaintenanceStore()
    return [store, store]
  }),
)

t.test('in memory: two stores are independent', async (t) => {
  const [one, other] = [memoryMaintenanceStore(), memoryMaintenanceStore()]
  await one.set({})
  t.equal(await other.get(), null)
})
