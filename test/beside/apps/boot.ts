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
  const { default: exported, options } = (await import(pathToFileURL(file).href)) as {
    readonly default: FastifyPluginAsync | (() => Promise<FastifyInstance>)
    readonly options?: FastifyServerOptions
  }
  if (exported.length === 0) return (exported as () => Promise<FastifyInstance>)()
  // A busy machine takes long to load plugins.
  const app = Fastify({ pluginTimeout: 60_000, ...options })
  const plugin = exported as FastifyPluginAsync
  let sessions = 0
  const fixed = { now: () => new Date('2026-01-07T08:00:00Z'), sessionId: () => `session-${++sessions}` }
  app.register(place === 'root' ? fastifyPlugin(plugin) : plugin, fixed)
  return app
}
