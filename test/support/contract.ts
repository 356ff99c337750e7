import type { Test } from 'tap'
import type { ContractClause } from '../../src/testing/contract.js'

/** Tests each clause of the contract of a store. */
export async function keepsContract(
  t: Pick<Test, 'test'>,
  clauses: readonly ContractClause[],
  about = '',
): Promise<void> {
  for (const { name, run } of clauses) {
    await t.test(`${about}${name}`, async (t) => {
      await run()
      t.pass(name)
    })
  }
}
