import { type Answer, answerFaults, refuseFaults } from './answers.js'
import { type Child, startChild } from './child.js'
import { type Driver, openDriver } from './driver.js'
import { costOf, joined, runRounds, type Samples, shares } from './measure.js'
import { type LoadScenario, requestsOf } from './scenario.js'

export interface LoadSettings {
  readonly rounds: number
  readonly warmUps: number
  /** Per variant and round. */
  readonly requests: number
  readonly connections: number
  /** Requests per second; `null` for as many as the server answers. */
  readonly rate: number | null
  /** After that many rounds that count, the servers are started afresh. */
  readonly roundsPerStart: number
}

interface RunningServer {
  readonly child: Child
  readonly driver: Driver
}

type RunningServers = ReadonlyMap<string, RunningServer>

/** Figures by variant. */
type Figures = Map<string, number[]>

interface Start extends LoadSettings {
  readonly firstTurn: number
  /** The user part of the CPU time, in µs per request. */
  readonly user: Figures
  /** What a tick of Node.js takes after the collections, in ns. */
  readonly ticks: Figures
}

/**
 * Drives the servers of a scenario in interleaved rounds and gives their CPU µs per request. The same server may be a
 * sixth slower from one start to the next for as long as it lives (what the compiler chose to optimize, and when), so
 * the servers are warmed up for long and started afresh every few rounds. Before the rounds that count, all collect garbage
 * while idle: servers that live for long have done so, and `process.nextTick()` may be slower from then on.
 */
export async function runLoad(
  name: string,
  scenario: LoadScenario,
  settings: LoadSettings,
): Promise<{ samples: Samples; facts: Readonly<Record<string, string>> }> {
  const runs: Samples[] = []
  let firstTurn = 0
  const [user, ticks]: [Figures, Figures] = [new Map(), new Map()]
  for (const rounds of shares(settings.rounds, settings.roundsPerStart)) {
    runs.push(await runStart(name, scenario, { ...settings, rounds, firstTurn, user, ticks }))
    firstTurn += rounds
  }
  const ofCpu = scenario.clock === 'time' ? {} : { 'User CPU µs per request': costs(user, 1) }
  return { samples: joined(runs), facts: { ...ofCpu, 'ns per tick of Node.js': costs(ticks, 0) } }
}

function costs(figures: Figures, digits: number): string {
  return [...figures].map(([variant, all]) => `${variant} ${costOf(all).toFixed(digits)}`).join(', ')
}

function note(figures: Figures, variant: string, figure: number): void {
  figures.set(variant, [...(figures.get(variant) ?? []), figure])
}

async function runStart(name: string, scenario: LoadScenario, settings: Start): Promise<Samples> {
  const { rounds, warmUps, firstTurn, connections, ticks } = settings
  const servers = await startServers(name, scenario, connections)
  try {
    await checkServers(scenario, servers)
    return await runRounds({
      variants: [...servers.keys()],
      rounds,
      warmUps,
      firstTurn,
      async settle() {
        for (const [variant, { child }] of servers)
          note(ticks, variant, (await child.ask({ ask: 'settle' })).tick)
      },
      async measure(variant, counts) {
        const { user, all } = await microsPerRequest(servers, variant, settings, scenario.clock ?? 'cpu')
        if (counts) note(settings.user, variant, user)
        return all
      },
    })
  } finally {
    await stopServers(servers)
  }
}

async function startServers(
  name: string,
  scenario: LoadScenario,
  connections: number,
): Promise<RunningServers> {
  const variants = Object.keys(scenario.variants)
  const servers = await Promise.all(
    variants.map(async (variant): Promise<[string, RunningServer]> => {
      const child = startChild(name, variant)
      const { port } = await child.ask({ ask: 'listen' })
      const driver = await openDriver(port, requestsOf(scenario, variant), connections)
      return [variant, { child, driver }]
    }),
  )
  return new Map(servers)
}

async function stopServers(servers: RunningServers): Promise<void> {
  await Promise.all(
    [...servers.values()].map(({ driver, child }) => {
      driver.close()
      return child.stop()
    }),
  )
}

async function checkServers(scenario: LoadScenario, servers: RunningServers): Promise<void> {
  const expected = await answersOf(scenario, servers, scenario.baseline)
  for (const variant of servers.keys()) {
    const sameBody = scenario.variants[variant]?.sameBody ?? scenario.sameBody
    const answers = await answersOf(scenario, servers, variant)
    refuseFaults(variant, answerFaults(requestsOf(scenario, variant), answers, sameBody ? expected : null))
  }
}

async function answersOf(
  scenario: LoadScenario,
  servers: RunningServers,
  variant: string,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const request of requestsOf(scenario, variant)) {
    const { status, body } = await serverOf(servers, variant).driver.exchange(request)
    answers.push({ status, body: body.toString() })
  }
  return answers
}

async function microsPerRequest(
  servers: RunningServers,
  variant: string,
  { requests, rate }: LoadSettings,
  clock: 'cpu' | 'time',
): Promise<{ user: number; all: number }> {
  const { child, driver } = serverOf(servers, variant)
  const read = () =>
    clock === 'cpu' ? child.ask({ ask: 'cpu' }) : { user: performance.now() * 1_000, system: 0 }
  const before = await read()
  try {
    await driver.send(requests, rate)
  } catch (error) {
    throw new Error(`variant '${variant}' failed under load`, { cause: error })
  }
  const after = await read()
  const user = after.user - before.user
  return { user: user / requests, all: (user + after.system - before.system) / requests }
}

function serverOf(servers: RunningServers, variant: string): RunningServer {
  const server = servers.get(variant)
  if (server === undefined) throw new Error(`there is no variant '${variant}'`)
  return server
}
