import { fileURLToPath } from 'node:url'
import t from 'tap'
import { memoryOperationStore } from '../../../../src/plugins/operations/stores/memory.js'
import { begin, claim, finish } from '../../../../src/plugins/operations/transitions.js'
import { operationStoreContract } from '../../../../src/testing/operation-store-contract.js'
import { runCommand } from '../../../package/run-command.js'
import { programArguments } from '../../../support/program.js'

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

t.test(
  '100,000 operations take under 1 kB each, are looked through at once, and leave nothing',
  async (t) => {
    const program = programArguments(new URL('memory-growth.ts', import.meta.url))
    const folder = fileURLToPath(new URL('../../..', import.meta.url))
    const printed = await runCommand(process.execPath, ['--expose-gc', ...program], folder)
    const found = JSON.parse(printed) as Readonly<Record<string, number>>
    const { waiting = 0, running = 0, final = 0, expired, left = 0, slowdown = 0 } = found
    t.ok(Math.max(waiting, running, final) < 1_000, `bytes each: ${waiting}, ${running} and ${final}`)
    t.ok(Math.min(waiting, running, final) > 100, 'and it is they that were weighed')
    t.equal(expired, 100_000)
    t.ok(left < 5_000_000, `${left} bytes are left`)
    // A store that goes through all of them takes a hundred times as long.
    t.ok(slowdown < 20, `a look at what is due takes ${slowdown} times as long as with 1,000`)
  },
)

t.test('texts are bounded in bytes: what ended first makes room, what is in progress does not', async (t) => {
  const store = memoryOperationStore({ maxBytes: 1_000 })
  const draft = (id: string, input: string | null) =>
    begin(id, { name: 'work', owner: null, input, cancellable: false }, 0, 1_000)
  const end = async (id: string, result: string) => {
    const record = await store.get(id)
    const claimed = record === null ? null : claim(record, 0, 1_000)
    if (claimed === null) throw new Error(`${id} is not there`)
    await store.replace(claimed)
    const ended = finish(claimed, 1, { status: 'Succeeded', resource: null, result }, 1, 1_000)
    if (ended !== null) await store.replace(ended)
  }
  for (const id of ['a', 'b', 'c', 'd']) {
    await store.create(draft(id, null))
    await end(id, 'x'.repeat(150))
  }
  const kept = async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const found = await Promise.all(ids.map((id) => store.get(id)))
    return ids.filter((_, index) => found[index] !== null).join('')
  }
  t.equal(await kept(), 'bcd', 'three results of 300 bytes')
  await store.create(draft('e', 'x'.repeat(300)))
  t.equal(await kept(), 'de', 'an input of 600 bytes')
  await t.rejects(store.create(draft('f', 'x'.repeat(300))), { name: 'OperationStoreFullError' })
  await end('e', 'x')
  await store.create(draft('f', 'x'.repeat(300)))
  t.equal(await kept(), 'def', 'an input is gone once its operation has ended')
})

t.test('options that are none are told at once', async (t) => {
  for (const maxOperations of [0, 1.5, 10_000_001]) {
    t.throws(() => memoryOperationStore({ maxOperations }), /memoryOperationStore\.maxOperations: expected/)
  }
})
