/** Fleets of processes that share operations, and the faults that they survive. */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { endProgram, startProgram } from '../../../support/program.js'
import { until } from '../../../support/until.js'

export interface MemberSetUp {
  readonly role: 'web' | 'worker'
  /** Milliseconds. */
  readonly lease: number
  /** URL of the server that has the records and the queue; one of the two. */
  readonly redis?: string
  readonly postgres?: string
  /** Whether a run counts its effect in the database, and so fails without it. */
  readonly effects?: boolean
}

export interface Member {
  readonly process: ChildProcess
  /** Where it listens; `''` for a worker. */
  readonly origin: string
  /** The ids of the operations that it began to run, in their order. */
  readonly runs: readonly string[]
  readonly log: readonly string[]
}

type Server = Pick<Member, 'origin'>

interface State {
  readonly status: string
  readonly result?: { readonly run: number }
  readonly error?: { readonly code: string }
}

/** Starts a member, and waits until it serves or works; it ends with the test. */
export async function startMember(t: Test, setUp: MemberSetUp): Promise<Member> {
  const [runs, log]: [string[], string[]] = [[], []]
  const { process, at } = await startProgram(t, new URL('member.ts', import.meta.url), setUp, (line) => {
    const id = /^run (\S+)/.exec(line)?.[1]
    if (id === undefined) log.push(line)
    else runs.push(id)
  })
  return { process, origin: at.startsWith('http') ? at : '', runs, log }
}

/** Starts an operation; its path, and `null` for a 503. */
export async function startWork(member: Server, milliseconds: number): Promise<string | null> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ milliseconds })
  const answer = await ask(member, '/v1/works', 202, { method: 'POST', headers, body })
  return answer && (answer.headers.get('location') ?? '')
}

/** Polls an operation; `null` for a 503. */
export async function stateOf(member: Server, path: string): Promise<State | null> {
  const answer = await ask(member, path, 200)
  return answer === null ? null : ((await answer.json()) as State)
}

async function ask({ origin }: Server, path: string, expected: number, init: RequestInit = {}) {
  const answer = await fetch(`${origin}${path}`, { ...init, signal: AbortSignal.timeout(15_000) })
  if (answer.status === expected) return answer
  await answer.arrayBuffer()
  if (answer.status === 503 && Number(answer.headers.get('retry-after')) >= 1) return null
  throw new Error(`a request was answered with ${answer.status}`)
}

/** Polls the members by turns until the operation has ended. */
export async function endOf(members: readonly Member[], path: string, within = 60_000): Promise<State> {
  let turn = 0
  const poll = () => stateOf(members[turn++ % members.length] as Member, path)
  const isOver = (state: State | null) => state !== null && state.status !== 'In progress'
  return (await until(poll, isOver, within, 100)) as State
}

/**
 * Waits for the ends of operations, and checks that each succeeds.
 *
 * @param effectsOf returns how often the runs of an operation have taken effect
 * @param mostEffects how often an operation may take effect
 */
export async function allSucceed(
  t: Test,
  webs: readonly Member[],
  paths: readonly string[],
  effectsOf = async (_id: string) => 1,
  mostEffects = 1,
) {
  // `wrong` ended in another way than they should; `doubled` took effect more often than the docs say.
  const toll = { operations: new Set(paths).size, lost: 0, stuck: 0, wrong: 0, doubled: 0 }
  const over: { path: string; end: State | null }[] = []
  for (const path of paths) {
    const end = await endOf(webs, path).catch((error: Error) => {
      toll[error.message.endsWith('answered with 404') ? 'lost' : 'stuck'] += 1
      return null
    })
    const effects = await effectsOf(idOf(path))
    if (end !== null && (end.status !== 'Succeeded' || effects === 0)) toll.wrong += 1
    if (effects > mostEffects) toll.doubled += 1
    over.push({ path, end })
  }
  t.strictSame(toll, { operations: paths.length, lost: 0, stuck: 0, wrong: 0, doubled: 0 })
  await staysSo(t, webs, over)
  return over.map(({ end }) => end)
}

/** Two processes that serve, and two that work. */
async function startFleet(t: Test, setUp: Omit<MemberSetUp, 'role'>) {
  const start = (role: MemberSetUp['role']) => startMember(t, { role, ...setUp })
  const webs = await Promise.all([start('web'), start('web')])
  const workers = await Promise.all([start('worker'), start('worker')])
  const web = (number: number) => webs[number % 2] as Member
  const worker = (number: number) => workers[number] as Member
  return { start, webs, workers, web, worker }
}

/** Where a fleet has its records and its queue. */
type Place = Pick<MemberSetUp, 'redis' | 'postgres'>

type EffectsOf = (id: string) => Promise<number>

/** The faults that all backends survive. */
export async function survivesFaults(t: Test, place: Place, effectsOf: EffectsOf) {
  // Longer than a busy machine stops a process: a run that loses its lease takes effect once more.
  const lease = 3_000
  const { start, webs, workers, web, worker } = await startFleet(t, { lease, effects: true, ...place })
  const all = [...webs, ...workers]

  /** Starts an operation, and waits until a worker runs it. */
  async function busyWorker(number: number) {
    const path = (await startWork(web(number), 1_500)) ?? ''
    const busy = async () => workers.findIndex(({ runs }) => runs.includes(idOf(path)))
    return { path, index: await until(busy, (found) => found !== -1) }
  }

  await t.test('a worker is killed during a run, 50 times: another ends the operation, once', async (t) => {
    const paths: string[] = []
    for (let kills = 0; kills < 50; kills += 1) {
      const { path, index } = await busyWorker(kills)
      paths.push(path)
      await endProgram(worker(index).process)
      workers[index] = await start('worker')
      all.push(worker(index))
    }
    // A kill may meet another operation of its worker between its effect and its end, which then runs again.
    const ends = await allSucceed(t, webs, paths, effectsOf, 2)
    t.notOk(ends.map((end) => Number(end?.result?.run)).includes(1), 'another run ended each')
  })

  await t.test('a worker stands still for two leases, 10 times: another ends the operation', async (t) => {
    const paths: string[] = []
    for (let stops = 0; stops < 10; stops += 1) {
      const { path, index } = await busyWorker(stops)
      paths.push(path)
      worker(index).process.kill('SIGSTOP')
      await pause(2 * lease)
      worker(index).process.kill('SIGCONT')
    }
    // The run that stood still may take effect, too.
    await allSucceed(t, webs, paths, effectsOf, 2)
  })

  await t.test('a cancellation meets the end, 500 times: one of them wins, for all processes', async (t) => {
    const seen = { Succeeded: 0, cancelled: 0 }
    for (let batch = 0; batch < 20; batch += 1) {
      const races = Array.from({ length: 25 }, async (_, index) => {
        const path = (await startWork(web(index), 30)) ?? ''
        await pause(index * 4)
        const cancellation = await fetch(`${web(index + 1).origin}${path}`, { method: 'DELETE' })
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
    t.ok(seen.Succeeded > 0 && seen.cancelled > 0, 'both win at times')
    t.equal(seen.Succeeded + seen.cancelled, 500)
  })

  await t.test('the log stays short', async (t) => {
    // A run in place of one that died is a line.
    for (const { log } of all) t.ok(log.length < 60, log.slice(0, 5).join('\n'))
  })
}

/** The server of the store restarts twice during 200 operations: none is lost, and each ends once. */
export async function survivesRestarts(t: Test, place: Place, restarts: readonly (() => Promise<void>)[]) {
  const { webs, workers, web } = await startFleet(t, { lease: 2_000, ...place })
  const paths: string[] = []
  const begun = Array.from({ length: 200 }, async (_, index) => {
    await pause(index * 20)
    // A client that gets a 503 tries again.
    const path = await until(() => startWork(web(index), 200), Boolean, 60_000, 500)
    paths.push(path ?? '')
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
) {
  // Of a process that a busy machine stops for longer, the runs would be begun again: here, no process dies.
  const { start, webs, workers, web } = await startFleet(t, { lease: 10_000, effects: true, ...place })
  const paths: string[] = []
  let refusals = 0
  const load = Array.from({ length: operations }, async (_, index) => {
    await pause(index * 30)
    for (let attempt = 0; ; attempt += 1) {
      // A client of a process that closes at this moment tries the other one.
      const path = await startWork(web(index + attempt), 500 + (index % 10) * 500).catch(() => null)
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
async function staysSo(t: Test, webs: readonly Member[], over: { path: string; end: State | null }[]) {
  for (const web of webs) {
    const again = await Promise.all(over.map(async ({ path }) => ({ path, end: await stateOf(web, path) })))
    t.strictSame(again, over, 'all processes report the same end')
  }
}

const idOf = (path: string) => path.slice(-32)
