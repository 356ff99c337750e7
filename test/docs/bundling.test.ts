/** docs/commonjs-and-bundling.md: its programs run as they stand, and bundled by its commands. */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { userEnvironment } from '../support/child.js'
import { blocksOf } from './markdown.js'

// Inside the repository, so that the packages of the page are found there.
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\.cache\/tests\/$/, '')
const blocks = blocksOf(await readFile(join(root, 'docs', 'commonjs-and-bundling.md'), 'utf8'))
const [app = ''] = textsOf('cjs')
const lambda = textsOf('js').at(-1) ?? ''
const commands = textsOf('sh').map((line) =>
  line.replace('npx esbuild', join(root, 'node_modules/.bin/esbuild')),
)

const call = `
const event = (rawPath, method = 'GET', body) => ({
  rawPath, rawQueryString: '', headers: {}, body, isBase64Encoded: false, requestContext: { http: { method, sourceIp: '192.0.2.1' } },
})
for (const asked of [event('/v1/orders/7'), event('/v1/Orders/7'), event('/v1/orders/7', 'DELETE')]) {
  const { statusCode, headers, body } = await handler(asked)
  console.log(statusCode, headers.ratelimit, Buffer.from(body, 'base64').toString())
}
process.exit()
`
const answers = /^200 .*r=999;t=60 \{"id":"7"\}\n404 .*path-uppercase.*\n405 .*method-not-allowed.*\n$/

t.test('the handler of a function runs the hooks', async (t) => {
  const folder = t.testdir({
    'app.cjs': app,
    'lambda.mjs': lambda,
    'call.mjs': `import { handler } from './lambda.mjs'\n${call}`,
  })
  t.match(run(folder, `${process.execPath} call.mjs`), { status: 0, stdout: answers })
})

t.test('the commands bundle it, as CommonJS and as an ES module', async (t) => {
  t.equal(commands.length, 2)
  const folder = t.testdir({
    'app.cjs': app,
    'service.cjs': `const { buildApp } = require('./app.cjs')\nbuildApp().then((app) => app.inject('/v1/Orders/7')).then(({ statusCode }) => console.log(statusCode))`,
    'service.mjs': lambda,
    'call.mjs': `import { handler } from './dist/service.mjs'\n${call}`,
  })
  for (const command of commands) t.match(run(folder, command), { status: 0 })
  t.match(run(folder, `${process.execPath} dist/service.cjs`), { status: 0, stdout: '404\n' })
  t.match(run(folder, `${process.execPath} call.mjs`), { status: 0, stdout: answers })
  const [, command = ''] = commands
  run(folder, command.replace(/ \\\n +--banner.*/, ''))
  t.match(run(folder, `${process.execPath} call.mjs`).stderr, 'Dynamic require of', 'the banner is needed')
})

function textsOf(language: string): string[] {
  return blocks.filter((block) => block.language === language).map(({ text }) => text)
}

function run(folder: string, command: string) {
  return spawnSync('sh', ['-c', command], { cwd: folder, env: userEnvironment(), encoding: 'utf8' })
}
