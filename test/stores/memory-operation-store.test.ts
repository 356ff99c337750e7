import t from 'tap'
import { memoryOperationStore } from '../../src/stores/memory-operation-store.js'
import { operationStoreContract } from '../../src/testing/operation-store-contract.js'

for (const { name, run } of operationStoreContract({
  async open() {
    const store = memoryOperationStore()
    return [store, store]
  },
  openBounded: async (maxOperations) => memoryOperationStore({ maxOperations }),
})) {
  t.test(`in memory: ${name}`, async (t) => {
    await run()
    t.pass(name)
  })
}
