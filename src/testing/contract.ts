import { strictEqual } from 'node:assert/strict'

/** A clause of a contract: its name, and a test that rejects if the store breaks it. */
export interface ContractClause {
  readonly name: string
  readonly run: () => Promise<void>
}

/** A transaction of the database of a store, for contracts of stores that take part in it. */
export interface ContractTransaction {
  readonly connection: object
  /** Ends the transaction, and releases the connection. */
  end(how: 'COMMIT' | 'ROLLBACK'): Promise<unknown>
}

export type Clauses<Store> = Readonly<Record<string, (one: Store, other: Store) => Promise<void>>>

export function clausesOf<Store>(
  open: () => Promise<readonly [Store, Store]>,
  clauses: Clauses<Store>,
): readonly ContractClause[] {
  return Object.entries(clauses).map(([name, check]) => ({
    name,
    run: async () => check(...(await open())),
  }))
}

/** Makes 40 calls at the same time, through two instances. Returns the number of the only one that succeeds. */
export async function onlySuccess<Store>(
  stores: readonly [Store, Store],
  call: (store: Store, number: number) => Promise<boolean>,
): Promise<number> {
  const calls = Array.from({ length: 40 }, (_, number) => call(stores[number % 2 === 0 ? 0 : 1], number))
  const results = await Promise.all(calls)
  strictEqual(results.filter((isDone) => isDone).length, 1)
  return results.indexOf(true)
}
