/** What the shared stores have in common. */
import t from 'tap'
import { ownerKey } from '../../../../src/plugins/operations/stores/store.js'

t.test('no two owners have the same key', async (t) => {
  const long = 'x'.repeat(201)
  t.equal(ownerKey('ann@example.com'), 'ann@example.com')
  t.match(ownerKey(long), /^sha256:[0-9a-f]{64}$/)
  const owners = ['', 'ann', 'ann ', 'ann\n', 'änn', '\ud800', '\ud801', long, `${long}x`]
  const all = [...owners, ...owners.map(ownerKey)]
  t.equal(new Set(all.map(ownerKey)).size, new Set(all).size)
})
