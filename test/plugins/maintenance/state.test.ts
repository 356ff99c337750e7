import fc from 'fast-check'
import t from 'tap'
import { type Claim, currentClaim } from '../../../src/plugins/maintenance/state.js'

const never = Number.POSITIVE_INFINITY

function claim(from: number, until: number, reason = `${from}-${until}`): Claim {
  return { source: 'window', from, until, retryAfter: null, reason }
}

t.test(
  'of several claims the one that ends last wins, extended to the end of those that follow without a gap',
  async (t) => {
    type Row = readonly [
      claims: readonly Claim[],
      reason: string | null,
      until: number | null,
      nextChange: number,
    ]
    const rows: readonly Row[] = [
      [[], null, null, never],
      [[claim(0, 10)], null, null, never],
      [[claim(0, 11)], '0-11', 11, 11],
      [[claim(11, 12)], null, null, 11],
      [[claim(10, 12)], '10-12', 12, 12],
      [[claim(0, 20), claim(0, never)], '0-Infinity', never, 20],
      [[claim(0, 20), claim(5, 15)], '0-20', 20, 15],
      [[claim(0, 20, 'first'), claim(5, 20, 'second')], 'first', 20, 20],
      [[claim(30, 40), claim(20, 30), claim(0, 20)], '0-20', 40, 20],
      [[claim(0, 20), claim(21, 30)], '0-20', 20, 20],
    ]
    for (const [claims, reason, until, nextChange] of rows) {
      const current = currentClaim(claims, 10)
      t.equal(current.claim?.reason ?? null, reason, JSON.stringify(claims))
      t.equal(current.claim?.until ?? null, until)
      t.equal(current.nextChange, nextChange)
    }
  },
)

t.test('there is maintenance exactly during a claim, and its end is in none of them', async () => {
  const time = fc.integer({ min: 0, max: 30 })
  const claims = fc.array(
    fc.tuple(time, time).map(([from, length]) => claim(from, from + length)),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(claims, time, (all, now) => {
      const holdsAt = (moment: number) => all.some(({ from, until }) => from <= moment && moment < until)
      const { claim: current, nextChange } = currentClaim(all, now)
      const isSteady = [now + 1, now + 2].every(
        (moment) => moment >= nextChange || holdsAt(moment) === holdsAt(now),
      )
      if (current === null) return !holdsAt(now) && isSteady
      return holdsAt(now) && isSteady && current.until > now && !holdsAt(current.until)
    }),
  )
})
