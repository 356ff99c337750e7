/** Callers, and which operations they may see. */
import t from 'tap'
import type { Caller } from '../../../src/plugins/operations/service.js'
import { callerOf, internal, maySee } from '../../../src/plugins/operations/start.js'
import { begun } from './samples.js'

t.test('an owner is an id, stored as a text; a caller without an id has the access `id`', async (t) => {
  const rows: readonly (readonly [owner: unknown, caller: Caller])[] = [
    ['ann', { owner: 'ann', access: 'owner' }],
    ['0', { owner: '0', access: 'owner' }],
    [0, { owner: '0', access: 'owner' }],
    [42, { owner: '42', access: 'owner' }],
    [2n ** 63n, { owner: '9223372036854775808', access: 'owner' }],
    [null, { owner: null, access: 'id' }],
    [undefined, { owner: null, access: 'id' }],
  ]
  for (const [owner, caller] of rows) t.strictSame(callerOf(owner as string), caller)
})

t.test('a value that is not an id is an error: all callers would have the same text', async (t) => {
  for (const owner of [{}, [], '', Number.NaN, 1.5, 2 ** 53, true, () => 'ann', Symbol('ann')]) {
    t.throws(() => callerOf(owner as unknown as string), { name: 'TypeError', message: /is not an id/ })
  }
})

t.test('three kinds of access: the owner, every caller who knows the id, and no caller', async (t) => {
  const [ann, bob, anonymous] = [callerOf('ann'), callerOf('bob'), callerOf(null)]
  const rows: readonly (readonly [started: Caller, caller: Caller, may: boolean])[] = [
    [ann, ann, true],
    [ann, bob, false],
    [ann, anonymous, false],
    [anonymous, anonymous, true],
    [anonymous, ann, false],
    [internal, anonymous, false],
    [internal, ann, false],
  ]
  for (const [{ owner, access }, caller, may] of rows) t.equal(maySee(caller, begun({ owner, access })), may)
})
