import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { endProgram } from '../../../support/program.js'
import { until } from '../../../support/until.js'
import { endOf, type Member, type MemberSetUp, type State, startMember, startWork, stateOf } from './fleet.js'

const lease = 1_000

/** Where a fleet has its records and its queue. */
type Place = Pick<MemberSetUp, 'redis' | 'postgres'>

/** Returns how often the runs of an operation have taken effect. */
type EffectsOf = (id: string) => Promise<number>

/**
 * Waits for the ends of operations, and checks that each succeeds.
 *
 * @param mostEffects returns how often an operation may take effect
 */
export async function allSucceed(
  t: Test,
  webs: readonly Member[],
  paths: readonly string[],
  effectsOf: EffectsOf = async () => 1,
  mostEffects: (id: string) => number = () => 1,
): Promise<readonly (State | null)[]> {
  // `wrong` ended in another way than they should; `doubled` took effect more often than the docs say.
  const toll = { operations: new Set(paths).size, lost: 0, stuck: 0, wrong: 0, doubled: 0 }
  const ends: (State | null)[] = []
  let twice = 0
  for (const path of paths) {
    const end = await endOf(webs, path).catch((error: Error) => {
      toll[error.message.endsWith('answered with 404') ? 'lost' : 'stuck'] += 1
      return null
    })
    const id = idOf(path)
    const effects = await effectsOf(id)
    if (end !== null && (end.status !== 'Succeeded' || effects === 0)) toll.wrong += 1
    if (effects > mostEffects(id)) toll.doubled += 1
    if (effects > 1) twice += 1
    ends.push(end)
  }
  t.comment(JSON.stringify({ ...toll, twice }))
  t.strictSame(toll, { operations: paths.length, lost: 0, stuck: 0, wrong: 0, doubled: 0 })
  const over = paths.map((path, index) => ({ path, end: ends[index] ?? null }))
  await staysSo(t, webs, over)
  return ends
}

/** The faults that all backends survive: two processes serve, and two work. */
export async function survivesFaults(t: Test, place: Place, effectsOf: EffectsOf): Promise<void> {
  const start = (role: MemberSetUp['role']) => startMember(t, { role, lease, effects: true, ...place })
  const webs = await Promise.all([start('web'), start('web')])
  const workers = await Promise.all([start('worker'), start('worker')])
  const all: Member[] = [...webs, ...workers]

  /** Starts an operation, and waits until a worker runs it. */
  async function busyWorker(number: number): Promise<{ path: string; index: number }> {
    const path = (await startWork(webs[number % 2] as Member, 1_500)) ?? ''
    const busy = async () => workers.findIndex(({ runs }) => runs.includes(idOf(path)))
    return { path, index: await until(busy, (found) => found !== -1) }
  }

  await t.test('a worker is killed during a run, 50 times: another ends the operation, once', async (t) => {
    const paths: string[] = []
    for (let kills = 0; kills < 50; kills += 1) {
      const { path, index } = await busyWorker(kills)
      paths.push(path)
      await endProgram((workers[index] as Member).process)
      workers[index] = await start('worker')
      all.push(workers[index] as Member)
    }
    // A kill may meet another operation of its worker between its effect and its end, which then runs again.
    const ends = await allSucceed(t, webs, paths, effectsOf, () => 2)
    t.notOk(ends.map((end) => Number(end?.result?.run)).includes(1), 'another run ended each')
  })

  await t.test('a worker stands still for three leases, 10 times: another ends the operation', async (t) => {
    const paths: string[] = []
    for (let stops = 0; stops < 10; stops += 1) {
      const { path, index } = await busyWorker(stops)
      paths.push(path)
      const { process } = workers[index] as Member
      process.kill('SIGSTOP')
      await pause(3 * lease)
      process.kill('SIGCONT')
    }
    // The run that stood still may take effect, too.
    await allSucceed(t, webs, paths, effectsOf, () => 2)
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
        const outcome = end.error?.code === 'operation-cancelled' ? 'cancelled' : 'Succeeded'
        seen[outcome] += 1
        const found = [cancellation.status, end.error?.code ?? end.status, await effectsOf(idOf(path))]
        const expected = outcome === 'cancelled' ? [204, 'operation-cancelled', 0] : [409, 'Succeeded', 1]
        if (String(found) !== String(expected)) t.strictSame(found, expected, path)
        return { path, end }
      })
      await staysSo(t, webs, await Promise.all(races))
    }
    t.comment(JSON.stringify(seen))
    t.ok(seen.Succeeded > 0 && seen.cancelled > 0, 'both win at times')
    t.equal(seen.Succeeded + seen.cancelled, 500)
  })

  await t.test('the log stays short', async (t) => {
    // A run in place of one that died is a line.
    for (const { log } of all) t.ok(log.length < 60, log.slice(0, 5).join('\n'))
  })
}

/** The server of the store restarts twice during 200 operations: none is lost, and each ends once. */
export async function survivesRestarts(
  t: Test,
  place: Place,
  restarts: readonly (() => Promise<void>)[],
): Promise<void> {
  const start = (role: MemberSetUp['role']) => startMember(t, { role, lease: 2_000, ...place })
  const webs = await Promise.all([start('web'), start('web')])
  const workers = await Promise.all([start('worker'), start('worker')])
  const paths: string[] = []
  const begun = Array.from({ length: 200 }, async (_, index) => {
    await pause(index * 20)
    // A client that gets a 503 tries again.
    for (;;) {
      const path = await startWork(webs[index % 2] as Member, 200)
      if (path !== null) return void paths.push(path)
      await pause(500)
    }
  })
  for (const restart of restarts) {
    await pause(1_200)
    await restart()
  }
  await Promise.all(begun)
  await allSucceed(t, webs, paths)
  for (const { log } of [...webs, ...workers]) t.ok(log.length < 40, log.slice(0, 5).join('\n'))
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
      const begun = startWork(webs[(index + attempt) % 2] as Member, 500 + (index % 10) * 500)
      const path = await begun.catch(() => null)
      if (path !== null) return void paths.push(path)
      refusals += 1
      if (attempt > 20) throw new Error('no process takes a start')
      await pause(200)
    }
  })
  for (let deploy = 0; deploy < deploys; deploy += 1) {
    for (const members of [workers, webs]) {
      for (const index of [0, 1]) {
        const old = members[index] as Member
        members[index] = await start(members === webs ? 'web' : 'worker')
        await endProgram(old.process, 'SIGTERM')
      }
    }
  }
  await Promise.all(load)
  await allSucceed(t, webs, paths, effectsOf)
  t.ok(refusals < operations / 10, `${refusals} starts were tried again`)
}

/** Checks that all processes go on to report the same ends. */
async function staysSo(
  t: Test,
  webs: readonly Member[],
  over: readonly { path: string; end: State | null }[],
) {
  for (const web of webs) {
    const again = await Promise.all(over.map(async ({ path }) => ({ path, end: await stateOf(web, path) })))
    t.strictSame(again, over, 'all processes report the same end')
  }
}

function idOf(path: string): string {
  return path.split('/').at(-1) ?? ''
}
