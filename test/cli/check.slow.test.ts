// Own process: it is slow
/** `fastify-conventions check`, the built program in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { userEnvironment } from '../support/child.js'

const program = resolve('dist/cli/index.js')
const root = t.testdir()

const plugin = `export default async function (app, options) {
  app.get('/v1/user/:id', async () => ({}))
}
export const options = { logger: true }
`
const factory = `const Fastify = require('fastify')
module.exports = function build() {
  const app = Fastify({ logger: true })
  app.get('/v1/users', async () => ({})).get('/v1/users/:id', async () => ({}))
  return app
}
`
const registering = `import Fastify from 'fastify'
import conventions from 'fastify-conventions'
export default async () => {
  const app = Fastify()
  await app.register(conventions, { responseRules: false })
  app.get('/v1/user', async () => ({}))
  app.addHook('onClose', async () => console.error('closed'))
  return app
}
`
const typed = `import type { FastifyInstance } from 'fastify'
enum Path { User = '/v1/user' }
export default async function app(instance: FastifyInstance): Promise<void> {
  instance.get(Path.User, async () => ({}))
}
`
const instance = `import Fastify from 'fastify'
const app = Fastify()
await app.register(import('@fastify/swagger'))
app.register(async (api) => {
  api.get('/v1/users', async () => [])
  api.get('/v1/health', async () => ({}))
})
export default app
`

const listening = `import Fastify from 'fastify'
const app = Fastify()
app.get('/v1/user', async () => ({}))
await app.listen({ port: 1, host: '192.0.2.1' })
app.listen({ port: 1, host: '192.0.2.1' }, (error) => { if (error) throw error })
export default app
`
const withParameters = (way: string) => `import Fastify from 'fastify'
export default ${way} (options) => Fastify(options.server).get('/v1/user', async () => ({}))
`
const undocumented = `export default async function (app, options) {
  app.decorate('swagger', () => { throw new Error('no such schema') })
}
`
const withSwagger = "const app = Fastify()\n  await app.register(import('@fastify/swagger'))"
const stopped = registering.replace('const app = Fastify()', withSwagger)
const returnsItsContext = "export default async (app) => app.get('/v1/users', async () => ({ users: [] }))"
const plural = /^GET \/v1\/user +pathGuard\.plural /m
const forActions = ['--format', 'github', '--mode', 'enforce']

type Row = readonly [about: string, source: string, code: number, out: readonly RegExp[], ...args: string[]]
const ofPlugin = [
  /^1 finding, 0 observations, 0 exceptions\n/,
  /^Checked in part or not at all: 1 route \(no response schema/m,
  /^GET \/v1\/user\/:id +pathGuard\.plural +boot stopped .* \/v1\/users\/:id$/m,
  /^OpenAPI document: none, @fastify\/swagger is not registered$/m,
]
const unmade = /^OpenAPI document: cannot be made: no such schema$/m
const notMade = /^OpenAPI document: not made, because findings stop the boot$/m
const notice = /^::notice title=OpenAPI::OpenAPI document: 2\.0, 2 operations$/m
const rows: readonly Row[] = [
  ['a plugin, as fastify-cli takes it', plugin, 1, ofPlugin],
  ['a CommonJS function that returns an app with routes', factory, 0, [/^0 findings, /]],
  ['a plugin with one parameter, which returns its context', returnsItsContext, 0, [/^0 findings, /]],
  ['a file that listens: it does not listen', listening, 1, [plural]],
  ['an app that a function with parameters makes', withParameters(''), 1, [plural]],
  ['an app that an async function with parameters makes', withParameters('async'), 1, [plural]],
  ['an app whose OpenAPI document cannot be made', undocumented, 1, [/^0 findings, /, unmade]],
  [
    'an app that its findings stop: that its document is not made is no error',
    stopped,
    1,
    [/^1 finding, /, notMade],
  ],
  [
    'an app, with the state of its OpenAPI document, for GitHub Actions',
    instance,
    0,
    [notice],
    ...forActions,
  ],
]

for (const [about, source, expected, patterns, ...args] of rows) {
  t.test(about, async (t) => {
    const name = source === factory ? 'app.cjs' : 'app.mjs'
    const { code, out, err } = await check(name, source, ...args)
    t.equal(code, expected, err)
    for (const pattern of patterns) t.match(out, pattern)
    if (source === plugin) t.match(err, /"module":"fastify-conventions"/, 'the log is not in the report')
  })
}

t.test('an app that its function makes ready, and whose boot fails, is closed', async (t) => {
  const source = registering.replace('  return app', '  return app.ready()')
  t.match(await check('app.mjs', source), { code: 1, out: 'pathGuard.plural', err: /^closed$/m })
})

t.test('a file without a default export is told what to export, without a stack', async (t) => {
  const builds = "import Fastify from 'fastify'\nexport const buildApp = () => Fastify()"
  for (const [name, source] of [
    ['app.mjs', builds],
    ['app.cjs', "exports.buildApp = () => require('fastify')()"],
  ] as const) {
    const { code, err } = await check(name, source)
    t.equal(code, 2)
    t.match(err, /exports buildApp, and no app as its default: .*`export default \(\) => buildApp\(\)`/)
    t.notMatch(err, /\n +at /)
  }
  const nothing = await check('app.mjs', "import Fastify from 'fastify'\nawait Fastify().listen({ port: 1 })")
  const err = /exports nothing, and no app as its default: `export default app`/
  t.match(nothing, { code: 2, err })
})

t.test('an app in TypeScript, by the lines of docs/check.md', async (t) => {
  const page = await readFile('docs/check.md', 'utf8')
  const lines = page.split('\n').filter((line) => line.includes('tsx'))
  t.equal(lines.filter((line) => line.includes('check ./app.ts')).length, 2)
  const folder = mkdtempSync(join(root, 'app-'))
  writeFileSync(join(folder, 'app.ts'), typed)
  const tsx = pathToFileURL(resolve('node_modules/tsx/dist/loader.mjs')).href
  const cli = resolve('node_modules/tsx/dist/cli.mjs')
  const args = ['check', join(folder, 'app.ts')]
  for (const checked of [await run(args, { NODE_OPTIONS: `--import ${tsx}` }), await run(args, {}, [cli])])
    t.match(checked, { code: 1, out: plural })
})

t.test('an app that registers conventions itself is checked as it is, and closed', async (t) => {
  const { code, out, err } = await check('app.mjs', registering, '--format', 'json')
  t.equal(code, 1, err)
  const { findings, document, ...others } = JSON.parse(out)
  const finding = { plugin: 'pathGuard', rule: 'plural', route: 'GET /v1/user', mode: 'enforce' }
  t.match(findings, [finding])
  t.match(document, { isBroken: false, text: /^none, / })
  t.match([findings.length, others], [1, { exceptions: [], observations: [] }])
  t.match(err, /closed/)
})

t.test('an app that cannot be loaded: the reason, and 2', async (t) => {
  const running = 'setInterval(() => {}, 1000)\n'
  const slow = 'export const options = { pluginTimeout: 50 }\nexport default (app, options, done) => '
  const table: ReadonlyArray<readonly [file: string, source: string, reason: RegExp, ...args: string[]]> = [
    ['app.cjs', 'module.exports = async (app, options) => { throw new Error("away") }', /app\.cjs: away/],
    ['app.mjs', 'throw new Error("no configuration")', /app\.mjs: no configuration/],
    ['app.mjs', 'export default 7', /exports a number, and no app as its default/],
    ['app.mjs', 'export default () => 7', /its function without parameters returns no app/],
    ['app.mjs', 'process.exit(3)', /the process ended with code 3 before the app was ready/],
    ['app.mjs', `${slow}void setInterval(() => {}, 1000)`, /app\.mjs: .*did not start in time/],
    ['app.mjs', `${running}await new Promise(() => {})`, /not ready after 1\.5 s/, '--timeout', '1.5'],
  ]
  await Promise.all(
    table.map(async ([file, source, reason, ...args]) => {
      const { code, out, err } = await check(file, source, ...args)
      t.equal(code, 2, `${source}: ${err}`)
      t.match(err, reason, source)
      t.equal(out, '', source)
    }),
  )
})

t.test('a missing file and wrong arguments: 2', async (t) => {
  t.match(await run(['check', 'nothing.js']), { code: 2, err: /there is no file nothing\.js/ })
  t.match(await run(['check']), { code: 2, err: /expected one file\n\nusage: / })
  t.match(await run(['--help']), { code: 0, out: /^usage: / })
})

/** Checks an app in a folder below this repository, so that it finds its packages. */
function check(name: string, source: string, ...args: readonly string[]) {
  const file = join(mkdtempSync(join(root, 'app-')), name)
  writeFileSync(file, source)
  return run(['check', file, ...args])
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}, loader: readonly string[] = []) {
  const child = spawn(process.execPath, [...loader, program, ...args], {
    env: { ...userEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, out, err }
}
