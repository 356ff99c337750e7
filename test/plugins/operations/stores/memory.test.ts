import t from 'tap'
import { memoryOperationStore } from '../../../../src/plugins/operations/stores/memory.js'
import { operationStoreContract } from '../../../../src/testing/operation-store-contract.js'
import { keepsContract } from '../../../support/contract.js'
import { ended, started } from '../samples.js'

t.test('the contract', async (t) => {
  const open = async () => {
    const store = memoryOperationStore()
    return [store, store] as const
  }
  await keepsContract(t, operationStoreContract({ open }))
})

t.test('a full store deletes the operation that ended first, and none that is in progress', async (t) => {
  const store = memoryOperationStore({ maxOperations: 3 })
  const [first, second, third] = [started(), started(), started()]
  for (const record of [first, second, third]) await store.create(record, null)
  await t.rejects(store.create(started(), null), { name: 'OperationStoreFullError' })
  await store.replace(second, ended(second))
  await store.replace(first, ended(first))
  t.equal(await store.create(started(), null), true)
  t.equal(await store.get(second.id), null)
  t.match(await store.get(first.id), { status: 'Succeeded' })
  t.match(await store.get(third.id), { status: 'In progress' })
  await store.remove(third)
  t.equal(await store.create(started(), null), true, 'there is room again')
})

t.test('bytes are bounded: the operation that ended first makes room, none in progress does', async (t) => {
  // A thousandth of the 64 MiB, two bytes for each character.
  const part = (count: number) => 'x'.repeat((count * 67_108) / 2)
  const store = memoryOperationStore()
  const add = (id: string, input: string | null) => store.create(started({ id }), input)
  const end = async (id: string, result: string) => {
    const record = await store.get(id)
    if (record !== null) await store.replace(record, ended(record, result))
  }
  for (const id of ['a', 'b', 'c', 'd']) {
    await add(id, null)
    await end(id, part(300))
  }
  const kept = async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const found = await Promise.all(ids.map((id) => store.get(id)))
    return ids.filter((_, index) => found[index] !== null).join('')
  }
  t.equal(await kept(), 'bcd', 'three results of 300 parts')
  await add('e', part(600))
  t.equal(await kept(), 'de', 'an input of 600 parts')
  await t.rejects(add('f', part(600)), { name: 'OperationStoreFullError' })
  await end('e', 'x')
  await add('f', part(600))
  t.equal(await kept(), 'def', 'an input is deleted when its operation ends')
})

t.test('invalid options are an error', async (t) => {
  for (const maxOperations of [0, 1.5, 10_000_001]) {
    t.throws(() => memoryOperationStore({ maxOperations }), /memoryOperationStore\.maxOperations: expected/)
  }
})
