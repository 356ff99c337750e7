/** Verbs among the words of a path: seed §4 "Action endpoints" and rule 3. */
import t from 'tap'
import {
  isCompoundNoun,
  knownVerbs,
  lastWord,
  oppositeOf,
  verbKind,
} from '../../../src/plugins/path-guard/path-words.js'

const verbs: ReadonlySet<string> = new Set([...knownVerbs, 'like', 'unlike', 'check-in'])

t.test('a verb, alone or with its object', async (t) => {
  const rows: Readonly<Record<'verb' | 'either' | 'neither', string>> = {
    verb: 'cancel follow verify-email resend-verification-email cancel-all cancel-order check-in verify-address',
    either: 'refund archive invite capture refund-policy login-page cancel-reason merge-request sync-status',
    neither:
      'users merge-requests cancel-reasons login-attempts follow-up follow-ups cancellation order-cancel',
  }
  for (const [kind, words] of Object.entries(rows)) {
    for (const word of words.split(' ')) t.equal(verbKind(word, verbs) ?? 'neither', kind, word)
  }
})

t.test('only known verbs are verbs', async (t) => {
  for (const word of ['cancel', 'cancel-order', 'refund']) t.equal(verbKind(word, new Set()), null, word)
})

t.test('the verb that takes an action back, where it is known', async (t) => {
  const rows: readonly (readonly [verb: string, opposite: string | null])[] = [
    ['follow', 'unfollow'],
    ['subscribe', 'unsubscribe'],
    ['publish', 'unpublish'],
    ['like', 'unlike'],
    ['suspend', 'resume'],
    ['enable', 'disable'],
    ['cancel', null],
    ['send', null],
  ]
  for (const [verb, opposite] of rows) t.equal(oppositeOf(verb, verbs), opposite, verb)
  t.equal(oppositeOf('follow', new Set(['follow'])), null, 'not a verb of the service')
})

t.test('nouns that start like an instruction, in both numbers', async (t) => {
  for (const word of ['follow-up', 'follow-ups', 'get-together', 'get-togethers', 'add-ons', 'all-hands']) {
    t.ok(isCompoundNoun(word), word)
  }
  for (const word of ['users', 'get-users', 'follow', '']) t.notOk(isCompoundNoun(word), word)
})

t.test('the last word of a name is its noun', async (t) => {
  t.equal(lastWord('purchase-orders'), 'orders')
  t.equal(lastWord('orders'), 'orders')
})
