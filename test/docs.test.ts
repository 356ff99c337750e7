/** What the pages tell a reader to type: it does what they say. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { emptyDatabase } from './demo/databases.js'
import { serveEmbedded } from './demo/embedded.js'
import { curlSettings, hasCurl, runLine } from './docs/curl.js'
import { type Block, blocksOf, curlLinesOf, missingOf, promisedStatus } from './docs/markdown.js'
import { startListening } from './support/child.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const readPage = (page: string) => readFile(join(root, page), 'utf8')
const withSingleSpaces = (row: string) => row.replace(/ +/g, ' ')
const documented = /\b(?:localhost|127\.0\.0\.1):(?:3000|8080)\b/g
/** Where the service of the README listens; the demo has port 3000. */
const ofService = 'localhost:8080'

const pages = [
  'README.md',
  // The tutorial has a test of its own: its commands are for another service than the demo.
  ...(await readdir(join(root, 'docs')))
    .filter((file) => file.endsWith('.md') && file !== 'tutorial.md')
    .map((file) => `docs/${file}`),
  'examples/demo-server/README.md',
]
/** Lines that get a token, which the pages use: those of the README. */
const tokenLines = blocksOf(await readPage('README.md'))
  .flatMap(curlLinesOf)
  .filter((line) => /^[A-Z_]+=\$\(/.test(line))
const skip =
  process.env.CI || (await hasCurl()) ? false : 'there is no curl: no command of the pages is tried'

for (const page of pages) {
  const shellBlocks = blocksOf(await readPage(page)).filter(({ language }) => language === 'sh')
  const ofDemo = shellBlocks.filter(({ text }) => !text.includes(ofService))
  const withCurl = ofDemo.filter((block) => curlLinesOf(block).length > 0)
  if (withCurl.length === 0) continue
  t.test(`${page}: its curl commands`, { skip }, (t) => tryCommands(t, withCurl))
}

t.test('README.md: the whole service', async (t) => {
  const blocks = blocksOf(await readPage('README.md'))
  const services = blocks.filter(({ language, text }) => language === 'js' && text.includes('app.listen('))
  t.equal(services.length, 1, 'there is one')
  const service = services[0]?.text ?? ''

  await t.test('does what its commands say', { skip }, async (t) => {
    const { host } = new URL(await startService(t, service))
    const ofPage = blocks.filter(({ language, text }) => language === 'sh' && text.includes(ofService))
    t.ok(ofPage.length > 0, 'the page has commands for it')
    await tryBlocks(t, ofPage, { folder: t.testdir(curlSettings), host })
    const read = await fetch(`http://${host}/v1/orders/1`)
    t.strictSame([await read.json(), read.headers.get('etag')], [{ id: 1, status: 'pending' }, '"7"'])
    const unknown = await (await fetch(`http://${host}/v1/orders/2`)).json()
    t.match(unknown, { status: 404, code: 'not-found', detail: 'There is no order 2' })
    const headers = { 'content-type': 'application/json', 'if-match': '"7"' }
    const change = { method: 'PATCH', headers, body: '{"status":"paid"}' }
    t.equal((await fetch(`http://${host}/v1/orders/1`, change)).status, 200)
    t.equal((await fetch(`http://${host}/v1/orders/1`, change)).status, 412, 'no update is lost')
  })

  await t.test('does not boot with the path in the page, and throws the table in the page', async (t) => {
    const broken = replaced(service, "'/v1/orders/:id'", "'/v1/Order/get_all'")
    const output = await startService(t, broken).catch(String)
    t.match(output, /exit code [1-9]/)
    const table = blocks.find(({ text }) => text.includes('pathGuard.uppercase'))
    const rows = table?.text.split('\n').filter((row) => row.includes('/v1/Order/get_all')) ?? []
    t.ok(rows.length > 0, 'the page shows it')
    for (const row of rows) t.match(withSingleSpaces(output), withSingleSpaces(row), row)
  })
})

t.test('README.md: the cost is that of the page about performance', async (t) => {
  const [readme = '', page = ''] = await Promise.all(['README.md', 'docs/performance.md'].map(readPage))
  const [, micros = '?', percent = '?'] = /preset adds\s+(\d+) µs, or ([\d.]+) %/.exec(page) ?? []
  const [, ofReadme, percentOfReadme] = /add (\d+) µs to a request[\s\S]+? or ([\d.]+) %/.exec(readme) ?? []
  t.strictSame([ofReadme, percentOfReadme], [micros, percent])
})

/** Runs the commands of a page, in their order, on a demo that has seen no other. */
async function tryCommands(t: Test, blocks: readonly Block[]): Promise<void> {
  const folder = t.testdir(curlSettings)
  const database = await emptyDatabase(t)
  const { origin } = await serveEmbedded(t, database)
  const { host } = new URL(origin)
  const lines = tokenLines.map((line) => line.replace(documented, host))
  const tokens = await runLine([...lines, 'printf "%s" "$TOKEN $USER_TOKEN"'].join('\n'), folder)
  const [TOKEN = '', USER_TOKEN = ''] = tokens.printed.split(' ')
  for (const token of [TOKEN, USER_TOKEN]) t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/, 'a token in one line')
  await tryBlocks(t, blocks, { folder, host, variables: { TOKEN, USER_TOKEN } })
}

type Server = { folder: string; host: string; variables?: Record<string, string> }

/** Runs the commands of blocks on a server; they end as the page says. */
async function tryBlocks(t: Test, blocks: readonly Block[], server: Server): Promise<void> {
  const { folder, host, variables } = server
  for (const block of blocks) {
    const printed: string[] = []
    for (const documentedLine of curlLinesOf(block)) {
      const line = documentedLine.replace(documented, host)
      t.not(line, documentedLine, `it asks the server: ${documentedLine}`)
      if (line === documentedLine) continue
      const { exitCode, complaints, statuses, printed: output } = await runLine(line, folder, variables)
      printed.push(output)
      t.equal(exitCode, 0, `${documentedLine}\n${complaints}`)
      t.ok(statuses.length > 0 && statuses.every((status) => status >= 200 && status < 500), statuses.join())
      const promised = promisedStatus(documentedLine)
      if (promised !== null) t.equal(statuses.at(-1), promised, documentedLine)
    }
    const { shown } = block
    if (shown === null) continue
    const faults = printed.map((output) => missingOf(shown, output))
    t.ok(faults.includes(null), `one of them answers what the page shows; missing: ${faults.join('\n')}`)
  }
}

function startService(t: Test, code: string, name = 'service.mjs'): Promise<string> {
  const file = join(t.testdir({ [name]: replaced(code, 'port: 8080', 'port: 0') }), name)
  return startListening(t, { args: [file] })
}

/** The text with one part changed; throws where it is not there. */
function replaced(whole: string, part: string, by: string): string {
  if (!whole.includes(part)) throw new Error(`not in the example of the page: ${part}`)
  return whole.replace(part, by)
}
