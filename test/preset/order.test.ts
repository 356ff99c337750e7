/** The order of a request: hooks as they stand on routes, the table, and the pages that show it. */
import { readFileSync } from 'node:fs'
import type { FastifyPluginAsync } from 'fastify'
import t from 'tap'
import { order } from '../../src/convention/order.js'
import * as exported from '../../src/index.js'
import { expected, hooksOf, options } from './sample-hooks.js'

const { conventions } = exported
const sourceOf = (path: string) => readFileSync(path, 'utf8')
const plugins: ReadonlyMap<string, unknown> = new Map(Object.entries(exported))
const names =
  'operations caching idempotency integerTwins fields responseRules lists selfAlias xsrf bearer versions ' +
  'methodOverride pathGuard rateLimit maintenance httpsOnly securityHeaders cors problems'

t.test('hooks stand in the order of the table, also if the plugins are registered in reverse', async (t) => {
  t.strictSame(await hooksOf((app) => app.register(conventions, options)), expected)
  const given: Readonly<Record<string, object>> = options
  const hooks = await hooksOf(async (app) => {
    for (const name of names.split(' '))
      await app.register(plugins.get(name) as FastifyPluginAsync<object>, given[name] ?? {})
  })
  t.strictSame(hooks, expected)
})

t.test('docs/path-of-a-request.md shows the table', async (t) => {
  const page = sourceOf('docs/path-of-a-request.md')
  const rows = [...page.matchAll(/^\| (?:`(\w+)`)? ?\| (?:`([^`]+)`|([^|`]+?)) +\|/gm)]
  const shown: Record<string, string[]> = {}
  let phase = ''
  for (const [, named, step, hooks] of rows) {
    phase = named ?? phase
    shown[phase] = [...(shown[phase] ?? []), step ?? hooks ?? '']
  }
  for (const [name, steps] of Object.entries(order)) t.strictSame(shown[name], steps, name)
})

t.test('docs/path-of-a-request.md names codes and statuses that exist', async (t) => {
  const errors = sourceOf('docs/errors.md')
  const codes = [...sourceOf('docs/path-of-a-request.md').matchAll(/(\d{3}) `([a-z-]+)`/g)]
  t.ok(codes.length > 20)
  for (const [, status, code] of codes) t.match(errors, `### ${code}\n\n**${status} `, `${status} ${code}`)
})
