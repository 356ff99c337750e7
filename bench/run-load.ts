import { type Answer, answerFaults, refuseFaults } from './answers.js'
import { type Child, startChild } from './child.js'
import { type Driver, openDriver } from './driver.js'
import { joined, runRounds, type Samples, shares } from './measure.js'
import { type LoadScenario, requestsOf } from './scenario.js'

export interface LoadSettings {
  readonly rounds: number
  readonly warmUps: number
  /** Per variant and round. */
  readonly requests: number
  readonly connections: number
  /** After that many rounds that count, the servers are started afresh. */
  readonly roundsPerStart: number
}

interface RunningServer {
  readonly child: Child
  readonly driver: Driver
}

type RunningServers = ReadonlyMap<string, RunningServer>

/**
 * Drives the servers of a scenario in interleaved rounds and gives their CPU µs per request. The same server may be a
 * sixth slower from one start to the next for as long as it lives (what the compiler chose to optimize, and when), so
 * the servers are warmed up for long and started afresh every few rounds.
 */
export async function runLoad(
  name: string,
  scenario: LoadScenario,
  settings: LoadSettings,
): Promise<Samples> {
  const runs: Samples[] = []
  let firstTurn = 0
  for (const rounds of shares(settings.rounds, settings.roundsPerStart)) {
    runs.push(await runStart(name, scenario, { ...settings, rounds, firstTurn }))
    firstTurn += rounds
  }
  return joined(runs)
}

async function runStart(
  name: string,
  scenario: LoadScenario,
  settings: LoadSettings & { readonly firstTurn: number },
): Promise<Samples> {
  const { rounds, warmUps, firstTurn, requests, connections } = settings
  const servers = await startServers(name, scenario, connections)
  try {
    await checkServers(scenario, servers)
    return await runRounds({
      variants: [...servers.keys()],
      rounds,
      warmUps,
      firstTurn,
      measure: (variant) => microsPerRequest(servers, variant, requests, scenario.clock ?? 'cpu'),
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
  requests: number,
  clock: 'cpu' | 'time',
): Promise<number> {
  const { child, driver } = serverOf(servers, variant)
  const read =
    clock === 'cpu'
      ? async () => (await child.ask({ ask: 'cpu' })).micros
      : async () => performance.now() * 1_000
  const before = await read()
  try {
    await driver.send(requests)
  } catch (error) {
    throw new Error(`variant '${variant}' failed under load`, { cause: error })
  }
  return ((await read()) - before) / requests
}

function serverOf(servers: RunningServers, variant: string): RunningServer {
  const server = servers.get(variant)
  if (server === undefined) throw new Error(`there is no variant '${variant}'`)
  return server
}
