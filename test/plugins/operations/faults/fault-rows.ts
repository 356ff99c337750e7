import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { until } from '../../../support/until.js'
import { endOf, kill, type Member, type MemberSetUp, startMember, startWork, stateOf } from './fleet.js'

/** Milliseconds. */
const lease = 1_000

/** Where a fleet keeps its records and its queue. */
export type Place = Pick<MemberSetUp, 'redis' | 'postgres'>

/** What holds on every backend, with two processes that serve and two that work. */
export async function endsWhateverHappens(t: Test, place: Place): Promise<void> {
  const start = (role: MemberSetUp['role'], isInOrder = false) =>
    startMember(t, { role, lease, isInOrder, ...place })
  const webs = await Promise.all([start('web'), start('web', true)])
  const workers = await Promise.all([start('worker'), start('worker')])
  const everybody: Member[] = [...webs, ...workers]

  await t.test('a worker is killed in the middle of its work, 50 times: another ends it, once', async (t) => {
    const paths: string[] = []
    for (let kills = 0; kills < 50; kills += 1) {
      const path = (await startWork(webs[kills % 2] as Member, 1_500)) ?? ''
      const id = path.split('/').at(-1) ?? ''
      paths.push(path)
      const busy = async () => workers.findIndex(({ runs }) => runs.includes(id))
      const index = await until(busy, (found) => found !== -1)
      await kill((workers[index] as Member).process)
      const next = await start('worker')
      workers[index] = next
      everybody.push(next)
    }
    const ends = await Promise.all(paths.map((path) => endOf(webs, path)))
    t.equal(new Set(paths).size, 50)
    t.strictSame(new Set(ends.map(({ status }) => status)), new Set(['Succeeded']))
    t.ok(
      ends.every(({ result }) => (result?.run ?? 0) >= 2),
      'another run ended each',
    )
    await staysSo(t, paths, ends)
  })

  await t.test('cancelling meets finishing, 500 times: one of them decides, for everybody', async (t) => {
    const seen = { Succeeded: 0, cancelled: 0 }
    for (let batch = 0; batch < 20; batch += 1) {
      const races = Array.from({ length: 25 }, async (_, index) => {
        const path = (await startWork(webs[index % 2] as Member, 30)) ?? ''
        await pause(index * 4)
        const cancellation = await fetch(`${webs[(index + 1) % 2]?.origin}${path}`, { method: 'DELETE' })
        await cancellation.arrayBuffer()
        const end = await endOf(webs, path)
        const isCancelled = end.error?.code === 'operation-cancelled'
        seen[isCancelled ? 'cancelled' : 'Succeeded'] += 1
        if (!isCancelled && end.status !== 'Succeeded') t.fail(`${path} is ${JSON.stringify(end)}`)
        if (isCancelled && cancellation.status !== 204)
          t.fail(`${path} was cancelled by ${cancellation.status}`)
        if (cancellation.status !== 204 && cancellation.status !== 409)
          t.fail(`a DELETE is ${cancellation.status}`)
        return { path, end }
      })
      const over = await Promise.all(races)
      await staysSo(
        t,
        over.map(({ path }) => path),
        over.map(({ end }) => end),
      )
    }
    t.ok(seen.Succeeded > 0 && seen.cancelled > 0, `both win at times: ${JSON.stringify(seen)}`)
    t.equal(seen.Succeeded + seen.cancelled, 500)
  })

  await t.test('nobody has flooded the log', async (t) => {
    for (const { log } of everybody) t.ok(log.length < 30, log.join('\n'))
  })

  async function staysSo(t: Test, paths: readonly string[], ends: readonly unknown[]): Promise<void> {
    for (const web of webs) {
      const again = await Promise.all(paths.map((path) => stateOf(web, path)))
      t.strictSame(again, ends, 'both tell the same, and it stays so')
    }
  }
}
