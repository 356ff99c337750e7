import { subscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginCallback, FastifyServerOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { type ConventionsReport, conventions, conventionsReport } from '../index.js'
import { type DocumentState, documentState } from './document.js'

process.once('message', async (request) => {
  const outcome = await bootApp(request as ProcessRequest)
  // The app may have left something open.
  process.send?.(outcome, () => process.exit())
})

/** Boots the app that a file exports, reads its report, and closes it. Never throws. */
async function bootApp({ file, mode, preset }: ProcessRequest): Promise<Outcome> {
  const apps = new Set<FastifyInstance>()
  const contexts = new Set<FastifyInstance>()
  // All copies of Fastify publish each new app on this channel, before the app has it.
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { readonly fastify: FastifyInstance }
    apps.add(fastify)
    contexts.add(fastify)
    keepFromListening(fastify)
    fastify.addHook('onRegister', (context) => void contexts.add(context))
    if (preset) registerFirst(fastify, mode)
  })
  try {
    apps.add(await appOf(file))
    // A function with parameters may have made one, too.
    for (const app of apps) await app.ready()
    return outcomeOf(contexts, true)
  } catch (error) {
    const { code, message } = error as Error & { readonly code?: unknown }
    if (code === 'FST_CONV_ALREADY_REGISTERED' && preset) return { kind: 'registered' }
    if (code === 'FST_CONV_FINDINGS') return outcomeOf(contexts, false)
    if (error instanceof ExportError) return { kind: 'failed', message }
    // The stack shows where.
    console.error(error)
    return { kind: 'failed', message: message ?? String(error) }
  } finally {
    await closed(apps)
  }
}

/** The file does not export what is needed: the message says what to export, and a stack would say nothing. */
class ExportError extends Error {}

/** Makes `listen()` do nothing: a file that listens is checked like others, if it exports its app. */
function keepFromListening(app: FastifyInstance): void {
  const listen = (...parameters: unknown[]): Promise<string> | undefined => {
    const done = parameters.at(-1)
    if (typeof done !== 'function') return Promise.resolve(addressOfNothing)
    done(null, addressOfNothing)
    return undefined
  }
  app.listen = listen as FastifyInstance['listen']
}

const addressOfNothing = 'http://[::]:0'

async function appOf(file: string): Promise<FastifyInstance> {
  const loaded = (await import(pathToFileURL(file).href)) as Loaded
  // The default export of CommonJS is `module.exports`, where compiled modules have a `default` of their own.
  const exported =
    isObject(loaded.default) && 'default' in loaded.default ? loaded.default.default : loaded.default
  if (isApp(exported)) return exported
  if (typeof exported !== 'function') {
    // That of a file without one is the object with its named exports.
    const names = Object.keys(isObject(exported) ? exported : loaded).filter((name) => name !== 'default')
    const isNothing = exported === undefined || isObject(exported)
    const found = names.join(', ') || (isNothing ? 'nothing' : `a ${typeof exported}`)
    throw new ExportError(
      `exports ${found}, and no app as its default: \`export default app\`, and listen in another file, ` +
        'or `export default () => buildApp()`',
    )
  }
  if (exported.length === 0) {
    const made: unknown = await exported()
    if (isApp(made)) return made
    throw new ExportError('its function without parameters returns no app; a plugin takes (app, options)')
  }
  const require = createRequire(file)
  const { default: Fastify } = (await import(
    pathToFileURL(require.resolve('fastify')).href
  )) as typeof import('fastify')
  const options = loaded.options ?? (exported as { readonly options?: FastifyServerOptions }).options
  const app = Fastify(options ?? {})
  app.register(exported as FastifyPluginCallback, {})
  return app
}

interface Loaded {
  readonly default?: unknown
  /** The options of the server, as fastify-cli takes them. */
  readonly options?: FastifyServerOptions
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isApp(value: unknown): value is FastifyInstance {
  return isObject(value) && ['register', 'ready', 'inject'].every((name) => typeof value[name] === 'function')
}

function registerFirst(app: FastifyInstance, mode: 'report' | 'enforce'): void {
  let isLoaded = false
  app.register(
    fastifyPlugin(async function registerPreset(root: FastifyInstance) {
      try {
        await root.register(conventions, { mode })
      } finally {
        isLoaded = true
      }
    }),
  )
  const names = ['route', 'all', ...app.supportedMethods.map((method) => method.toLowerCase())]
  const declarations = app as unknown as Record<string, (...parameters: unknown[]) => unknown>
  for (const name of names) {
    const declare = declarations[name]
    if (typeof declare !== 'function') continue
    declarations[name] = function declareLater(this: unknown, ...parameters) {
      if (isLoaded || this !== app) return declare.apply(this, parameters)
      app.register(fastifyPlugin(async () => void declare.apply(app, parameters)))
      return app
    }
  }
}

function outcomeOf(contexts: ReadonlySet<FastifyInstance>, isReady: boolean): Outcome {
  const reports = [...contexts].flatMap((context) => conventionsReport(context) ?? [])
  if (reports.length === 0) return { kind: 'failed', message: 'no convention is registered' }
  const documents = [...contexts].find((context) => context.hasDecorator('swagger')) as
    | { readonly swagger: () => unknown }
    | undefined
  const make = documents && (() => documents.swagger())
  return { kind: 'booted', report: joined(reports), document: documentState(make, isReady) }
}

/** Joins the reports of contexts, which share one with those above. */
function joined(reports: readonly ConventionsReport[]): ConventionsReport {
  return {
    routes: [...new Set(reports.flatMap(({ routes }) => routes))],
    findings: [...new Set(reports.flatMap(({ findings }) => findings))],
    exceptions: [...new Set(reports.flatMap(({ exceptions }) => exceptions))],
    observations: [...new Set(reports.flatMap(({ observations }) => observations))],
  }
}

const closeTimeout = 10_000

async function closed(apps: ReadonlySet<FastifyInstance>): Promise<void> {
  const timeout = new Promise((done) => setTimeout(done, closeTimeout))
  const all = [...apps].map((app) => app.close())
  await Promise.race([Promise.all(all), timeout]).catch((error: unknown) => console.error(error))
}

export interface ProcessRequest {
  readonly file: string
  readonly mode: 'report' | 'enforce'
  readonly preset: boolean
}

export type Outcome =
  | { readonly kind: 'booted'; readonly report: ConventionsReport; readonly document: DocumentState }
  /** The app registers conventions itself. */
  | { readonly kind: 'registered' }
  | { readonly kind: 'failed'; readonly message: string }
