import { execFileSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyServerOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { OwnTests } from './own-tests.js'

export type AppName = 'tasks' | 'graph' | 'generated'

/** An app as it is, or after a step of `docs/into-a-running-service.md`, which is the diff of this name. */
export type State = 'bare' | 'report' | 'enforce'

/** In which context fastify-cli registers an app: one of its own in production, the root in its tests. */
export type Place = 'root' | 'context'

export interface AppFolder {
  readonly file: string
  readonly ownTests: OwnTests
  boot(place?: Place): Promise<FastifyInstance>
}

/** Copies an app in one of its states below a folder. */
export async function appIn(root: string, name: AppName, state: State): Promise<AppFolder> {
  const source = fileURLToPath(new URL(name, import.meta.url))
  const folder = join(root, `${name}-${state}`)
  cpSync(source, folder, { recursive: true, preserveTimestamps: true })
  if (state !== 'bare') execFileSync('git', ['apply', join(source, `${state}.diff`)], { cwd: folder })
  const file = ['app.mjs', 'app.cjs'].map((one) => join(folder, one)).find((one) => existsSync(one)) ?? ''
  const { default: rows, login } = await import(pathToFileURL(join(folder, 'requests.mjs')).href)
  return { file, ownTests: { rows, login }, boot: (place) => boot(file, place) }
}

async function boot(file: string, place: Place = 'root'): Promise<FastifyInstance> {
  const { default: exported, options } = (await import(pathToFileURL(file).href)) as AppModule
  if (exported.length === 0) return (exported as () => Promise<FastifyInstance>)()
  // A busy machine takes long to load plugins.
  const app = Fastify({ pluginTimeout: 60_000, ...options })
  const plugin = exported as FastifyPluginAsync<AppOptions>
  let sessions = 0
  app.register(place === 'root' ? fastifyPlugin(plugin) : plugin, {
    now: () => new Date('2026-01-07T08:00:00Z'),
    sessionId: () => `session-${++sessions}`,
  })
  return app
}

interface AppOptions {
  readonly now: () => Date
  readonly sessionId: () => string
}

interface AppModule {
  readonly default: FastifyPluginAsync<AppOptions> | (() => Promise<FastifyInstance>)
  readonly options?: FastifyServerOptions
}
