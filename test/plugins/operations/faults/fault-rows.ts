import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { until } from '../../../support/until.js'
import {
  close,
  endOf,
  kill,
  type Member,
  type MemberSetUp,
  startMember,
  startWork,
  stateOf,
} from './fleet.js'

/** Milliseconds. */
const lease = 1_000

/** Where a fleet has its records and its queue. */
type Place = Pick<MemberSetUp, 'redis' | 'postgres'>

/** Returns how often the runs of an operation have taken effect. */
type EffectsOf = (id: string) => Promise<number>

/** The faults that all backends survive: two processes serve, and two work. */
export async function survivesFaults(t: Test, place: Place): Promise<void> {
  const start = (role: MemberSetUp['role']) => startMember(t, { role, lease, ...place })
  const webs = await Promise.all([start('web'), start('web')])
  const workers = await Promise.all([start('worker'), start('worker')])
  const all: Member[] = [...webs, ...workers]

  await t.test('a worker is killed during a run, 50 times: another ends the operation, once', async (t) => {
    const paths: string[] = []
    for (let kills = 0; kills < 50; kills += 1) {
      const path = (await startWork(webs[kills % 2] as Member, 1_500)) ?? ''
      paths.push(path)
      const busy = async () => workers.findIndex(({ runs }) => runs.includes(idOf(path)))
      const index = await until(busy, (found) => found !== -1)
      await kill((workers[index] as Member).process)
      workers[index] = await start('worker')
      all.push(workers[index] as Member)
    }
    const ends = await Promise.all(paths.map((path) => endOf(webs, path)))
    t.equal(new Set(paths).size, 50)
    t.strictSame(new Set(ends.map(({ status, error }) => error?.code ?? status)), new Set(['Succeeded']))
    t.ok(
      ends.every(({ result }) => (result?.run ?? 0) >= 2),
      'another run ended each',
    )
    await staysSo(t, webs, paths, ends)
  })

  await t.test('a cancellation meets the end, 500 times: one of them wins, for all processes', async (t) => {
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
        webs,
        over.map(({ path }) => path),
        over.map(({ end }) => end),
      )
    }
    t.ok(seen.Succeeded > 0 && seen.cancelled > 0, `both win at times: ${JSON.stringify(seen)}`)
    t.equal(seen.Succeeded + seen.cancelled, 500)
  })

  await t.test('the log stays short', async (t) => {
    // A run in place of one that died is a line.
    for (const { log } of all) t.ok(log.length < 60, log.slice(0, 5).join('\n'))
  })
}

/**
 * Restarts the members of a fleet under load, one after the other, as a deploy does: the new process serves before the old one closes.
 * Each operation takes effect exactly once.
 */
export async function survivesDeploys(
  t: Test,
  place: Place,
  deploys: number,
  operations: number,
  effectsOf: EffectsOf,
): Promise<void> {
  const start = (role: MemberSetUp['role']) =>
    // Of a process that a busy machine stops for longer, the runs would be begun again: here, no process dies.
    startMember(t, { role, lease: 10_000, effects: true, ...place })
  const webs = [await start('web'), await start('web')]
  const workers = [await start('worker'), await start('worker')]
  const paths: string[] = []
  let refusals = 0

  const load = Array.from({ length: operations }, async (_, index) => {
    await pause(index * 30)
    for (let attempt = 0; ; attempt += 1) {
      // A client of a process that closes at this moment tries the other one.
      const path = await startWork(webs[(index + attempt) % 2] as Member, 500 + (index % 10) * 500).catch(
        () => null,
      )
      if (path !== null) return void paths.push(path)
      refusals += 1
      if (attempt > 20) throw new Error('no process takes a start')
      await pause(200)
    }
  })
  for (let deploy = 0; deploy < deploys; deploy += 1) {
    for (const [members, role] of [
      [workers, 'worker'],
      [webs, 'web'],
    ] as const) {
      for (const index of [0, 1]) {
        const old = members[index] as Member
        members[index] = await start(role)
        await close(old.process)
      }
    }
  }
  await Promise.all(load)
  t.equal(new Set(paths).size, operations)
  const ends: unknown[] = []
  for (const path of paths) ends.push((await endOf(webs, path)).status)
  t.strictSame(new Set(ends), new Set(['Succeeded']), 'none is lost')
  const effects = await Promise.all(paths.map((path) => effectsOf(idOf(path))))
  t.strictSame(new Set(effects), new Set([1]), 'each took effect once')
  t.ok(refusals < operations / 10, `${refusals} starts were tried again`)
}

/** Checks that all processes go on to report the same ends. */
export async function staysSo(
  t: Test,
  webs: readonly Member[],
  paths: readonly string[],
  ends: readonly unknown[],
): Promise<void> {
  for (const web of webs) {
    const again = await Promise.all(paths.map((path) => stateOf(web, path)))
    t.strictSame(again, ends, 'all processes report the same end')
  }
}

/** Returns the id of an operation from its path. */
function idOf(path: string): string {
  return path.split('/').at(-1) ?? ''
}
