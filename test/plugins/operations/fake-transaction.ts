import type { OperationStore, OperationTransaction } from '../../../src/plugins/operations/stores/store.js'

/** A transaction of the app: the changes of a store that it does when it commits. */
export interface FakeTransaction extends OperationTransaction {
  commit(): Promise<void>
}

/** Returns a store that takes part in transactions of {@link transactionOf}. */
export function withTransactions<Store extends OperationStore>(store: Store): Store {
  return Object.assign(store, { within: (connection: object) => connection as FakeTransaction })
}

/** Begins a transaction. A change of a version that is not stored fails at once, as in a database. */
export function transactionOf(store: OperationStore): FakeTransaction {
  const changes: (() => Promise<unknown>)[] = []
  return {
    async create(record, input) {
      changes.push(() => store.create(record, input))
      return true
    },
    async replace(previous, next) {
      const stored = await store.get(previous.id)
      if (stored?.version !== previous.version) return false
      changes.push(() => store.replace(previous, next))
      return true
    },
    async commit() {
      for (const change of changes) await change()
    },
  }
}
