import { execFileSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync, FastifyServerOptions, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'

export type AppName = 'tasks' | 'generated'

/** An app as it is, or after a step of `docs/into-a-running-service.md`, which is the diff of this name. */
export type State = 'bare' | 'report' | 'enforce'

/** In which context fastify-cli registers an app: one of its own in production, the root in its tests. */
export type Place = 'root' | 'context'

export type AppFolder = Awaited<ReturnType<typeof appIn>>

/** Copies an app in one of its states below a folder. */
export async function appIn(root: string, name: AppName, state: State) {
  const source = fileURLToPath(new URL(name, import.meta.url))
  const folder = join(root, `${name}-${state}`)
  cpSync(source, folder, { recursive: true, preserveTimestamps: true })
  if (state !== 'bare') execFileSync('git', ['apply', join(source, `${state}.diff`)], { cwd: folder })
  const file = ['app.mjs', 'app.cjs'].map((one) => join(folder, one)).find((one) => existsSync(one)) ?? ''
  const { default: rows, login } = await import(pathToFileURL(join(folder, 'requests.mjs')).href)
  const ownTests: OwnTests = { rows, login }
  return { file, ownTests, boot: (place?: Place) => boot(file, place) }
}

async function boot(file: string, place: Place = 'root'): Promise<FastifyInstance> {
  const { default: plugin, options } = (await import(pathToFileURL(file).href)) as {
    readonly default: FastifyPluginAsync
    readonly options: FastifyServerOptions
  }
  // A busy machine takes long to load plugins.
  const app = Fastify({ pluginTimeout: 60_000, ...options })
  let sessions = 0
  const fixed = { now: () => new Date('2026-01-07T08:00:00Z'), sessionId: () => `session-${++sessions}` }
  app.register(place === 'root' ? fastifyPlugin(plugin) : plugin, fixed)
  return app
}

/** A test of an app: its name, its user if there is one, method and URL, the status, the JSON or text of the body, and what else is sent or gotten. */
type Row = readonly [
  name: string,
  asked: string,
  status: number,
  body?: unknown,
  rest?: Pick<InjectOptions, 'headers' | 'payload'> & {
    readonly fields?: Readonly<Record<string, string | RegExp>>
  },
]

interface OwnTests {
  readonly rows: readonly Row[]
  /** The request that logs a user in. */
  readonly login?: (username: string) => InjectOptions
}

/** The requests of the tests of an app, in their order; their users log in. */
export async function requestsOf(app: FastifyInstance, { rows, login }: OwnTests): Promise<InjectOptions[]> {
  const cookies = new Map<string, string>()
  const requests: InjectOptions[] = []
  for (const [, asked, , , { headers, payload } = {}] of rows) {
    const [url = '', method, user] = asked.split(' ').reverse()
    if (user !== undefined && !cookies.has(user) && login !== undefined) {
      const { headers } = await app.inject(login(user))
      cookies.set(user, String(headers['set-cookie']).split(';')[0] ?? '')
    }
    const cookie = user === undefined ? {} : { cookie: cookies.get(user) ?? '' }
    const content = payload === undefined ? {} : { payload }
    requests.push({ method: method as 'GET', url, headers: { ...headers, ...cookie }, ...content })
  }
  return requests
}

/** Runs the tests of an app, in their order. Returns each response, whether its body is another one, and what else differs. */
export async function run(app: FastifyInstance, ownTests: OwnTests) {
  const outcomes = []
  const requests = await requestsOf(app, ownTests)
  for (const [index, row] of ownTests.rows.entries()) {
    const [, , status, body, { fields = {} } = {}] = row
    const response = await app.inject(requests[index] ?? {})
    const failures = Object.entries(fields)
      .filter(([name, wanted]) => !matches(response.headers[name], wanted))
      .map(([name]) => `${name}: ${response.headers[name]}`)
    if (response.statusCode !== status) failures.push(`status ${response.statusCode}`)
    outcomes.push({ row, response, failures, otherBody: body !== undefined && !matches(response.body, body) })
  }
  return outcomes
}

function matches(received: unknown, wanted: unknown): boolean {
  if (wanted instanceof RegExp) return wanted.test(String(received))
  return received === (typeof wanted === 'object' ? JSON.stringify(wanted) : wanted)
}
