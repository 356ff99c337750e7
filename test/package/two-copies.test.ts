/** Two copies of this package in one process, its ES modules and its CommonJS build, whose plugins share an app. */
import { createRequire } from 'node:module'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import * as imported from 'fastify-conventions'
import OldestFastify from 'fastify-oldest'
import t from 'tap'
import { expected, hooksOf, options } from '../preset/sample-hooks.js'
import { injected, isProblem } from '../support/problem.js'
import { buildService } from './bundled-service.js'
import { keepsConventions } from './service-checks.js'

type Copy = typeof imported

const required = createRequire(import.meta.url)('fastify-conventions') as Copy
const pairs = [
  ['import first', imported, required],
  ['require first', required, imported],
] as const
// The types of the two releases are not the same to TypeScript.
const releases = { installed: Fastify, oldest: OldestFastify as unknown as typeof Fastify }

const names =
  `problems cors securityHeaders httpsOnly maintenance rateLimit pathGuard methodOverride versions bearer xsrf
  selfAlias lists responseRules fields integerTwins idempotency caching operations formats`.split(
    /\s+/,
  ) as readonly (keyof Copy)[]

t.test('import and require load two copies of each plugin', async (t) => {
  const [[, one, other]] = pairs
  for (const name of names) t.not(one[name], other[name], name)
})

t.test('the hooks of both stand in the order of the table, whichever is registered first', async (t) => {
  for (const [release, create] of Object.entries(releases)) {
    for (const [pair, one, other] of pairs) {
      const plugins = mixed(one, other)
      t.strictSame(await hooksOf(registering(plugins), create), expected, `${pair}, ${release}`)
      const reversed = registering(plugins.reverse())
      t.strictSame(await hooksOf(reversed, create), expected, `${pair}, ${release}, reversed`)
    }
  }
})

t.test('an app with plugins of both keeps the conventions', async (t) => {
  for (const create of Object.values(releases)) {
    for (const [, one, other] of pairs) {
      // The requests have no token.
      const plugins = mixed(one, other).filter(([name]) => name !== 'bearer')
      await keepsConventions(t, await buildService(create, registering(plugins)))
    }
  }
})

t.test('a plugin of one copy refuses an app in which that of the other copy is registered', async (t) => {
  for (const [pair, one, other] of pairs) {
    const app = Fastify()
    await app.register(one.default)
    await t.rejects(async () => app.register(other.default), { code: 'FST_CONV_ALREADY_REGISTERED' }, pair)
  }
})

t.test('a ProblemError of one copy is sent by the other', async (t) => {
  for (const [pair, one, other] of pairs) {
    const app = Fastify(one.serverOptions())
    await app.register(one.problems)
    app.get('/v1/users', async () => {
      throw new other.ProblemError('name-taken', { status: 409 })
    })
    isProblem(t, injected(await app.inject('/v1/users')), { status: 409, code: 'name-taken' }, pair)
  }
})

t.test('findings of plugins of both copies are thrown in one table', async (t) => {
  for (const [pair, one, other] of pairs) {
    const app = Fastify()
    await app.register(one.pathGuard)
    await app.register(other.responseRules)
    const schema = { response: { 200: { type: 'array', items: { type: 'string' } } } }
    app.get('/v1/Users', { schema }, async () => [])
    const error = await app.ready().then(
      () => null,
      (thrown: Error) => thrown,
    )
    t.match(error, { code: 'FST_CONV_FINDINGS' }, pair)
    for (const plugin of ['pathGuard', 'responseRules']) t.match(error?.message, plugin)
  }
})

type Plugins = (readonly [name: string, plugin: FastifyPluginAsync<object>])[]

/** The plugins in the order of the preset, by turns of one copy and of the other. */
function mixed(one: Copy, other: Copy): Plugins {
  return names.map((name, index) => [
    name,
    (index % 2 === 0 ? one : other)[name] as FastifyPluginAsync<object>,
  ])
}

function registering(plugins: Plugins): (app: FastifyInstance) => Promise<void> {
  const given: Readonly<Record<string, object>> = options
  return async function registerAll(app) {
    for (const [name, plugin] of plugins) await app.register(plugin, given[name] ?? {})
  }
}
