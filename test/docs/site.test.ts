/** The pages: links and anchors lead somewhere, the sidebar lists them all, and tables list the options of the types. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'
import { anchorOf, deadLinks } from '../../site/links.js'
import { sidebar } from '../../site/sidebar.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('no page has a dead link or anchor', async (t) => {
  const folders = ['', 'docs/', 'examples/', 'examples/demo-server/', 'bench/', 'bench/results/']
  const files = folders.flatMap((folder) => readdirSync(root + folder).map((file) => folder + file))
  const pages = files.filter((file) => file.endsWith('.md'))
  t.ok(pages.includes('README.md') && pages.includes('docs/caching.md'))
  t.strictSame(deadLinks(root, pages), [])
})

t.test('dead links and anchors are found', async (t) => {
  const readme = `# A
[a](docs/a.md), [b](docs/a.md#two-words), [c](#a), [d](https://a.example/x), \`[in code](gone.md)\`
[gone](docs/gone.md), [no anchor](docs/a.md#three), [outside](../x.md), <img src="b.svg">
\`\`\`md
[in a block](gone.md)
\`\`\`
[reference]: gone.md`
  const a =
    '# A\n## Two words\n```sh\n# three\n```\n[back](../README.md) [again](#two-words-1)\n## Two words\n'
  const folder = t.testdir({ 'README.md': readme, docs: { 'a.md': a } })
  t.strictSame(deadLinks(`${folder}/`, ['README.md', 'docs/a.md']), [
    'README.md: docs/gone.md: there is no such file',
    'README.md: docs/a.md#three: there is no such anchor',
    'README.md: ../x.md: there is no such file',
    'README.md: gone.md: there is no such file',
    'README.md: b.svg: there is no such file',
  ])
})

t.test('anchors are those of the host', async (t) => {
  const headings = ['Why not @fastify/etag', 'if the client sends …', '`PUT`, `PATCH` – and_more']
  t.strictSame(headings.map(anchorOf), ['why-not-fastifyetag', 'if-the-client-sends-', 'put-patch--and_more'])
})

t.test('each page of docs/ is listed once, and each listed page exists', async (t) => {
  const pages = sidebar.flatMap((group) => group.pages)
  const files = readdirSync(`${root}docs`).filter((file) => file.endsWith('.md'))
  const listed = pages.filter((page) => page.startsWith('docs/'))
  t.strictSame(listed.sort(), files.map((file) => `docs/${file}`).sort())
  for (const page of pages) t.ok(existsSync(root + page), page)
})

const folders = readdirSync(`${root}src/plugins`)
const resolution = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }
const program = ts.createProgram(folders.map(fileOf), { ...resolution, types: [] })
const checker = program.getTypeChecker()

/** The file with the types of the options: that of the plugin itself if they are few. */
function fileOf(folder: string): string {
  const own = `${root}src/plugins/${folder}/options.ts`
  return existsSync(own) ? own : `${root}src/plugins/${folder}/index.ts`
}

/** Names and defaults, as TypeScript or as a page has them. */
type Options = ReadonlyMap<string, string | undefined>

for (const folder of folders) {
  t.test(`docs/${folder}.md`, async (t) => {
    const name = folder.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase())
    const options = typeOptions(folder, `${name}Options`)
    const routeOptions = typeOptions(folder, `${name}RouteOptions`)
    const tables = pageTables(readFileSync(`${root}docs/${folder}.md`, 'utf8'))
    const table = tables.reduce((best, one) =>
      missingFrom(options, one).length < missingFrom(options, best).length ? one : best,
    )
    t.ok(options.size > 0)
    t.strictSame(missingFrom(options, table), [], 'each option of the type is in the table')
    t.strictSame(missingFrom(table, new Map([...routeOptions, ...options])), [], 'and no others')
    t.strictSame(otherDefaults(options, table), [], 'defaults are the same')
  })
}

/** The options of a type, with the text of `@default`. */
function typeOptions(folder: string, name: string): Options {
  const file = program.getSourceFile(fileOf(folder))
  const module = file && checker.getSymbolAtLocation(file)
  const found = module && checker.getExportsOfModule(module).find((one) => one.name === name)
  if (found === undefined) return new Map()
  const entries = checker.getDeclaredTypeOfSymbol(found).getProperties()
  return new Map(
    entries.map((property) => {
      const tag = property.getJsDocTags(checker).find((one) => one.name === 'default')
      return [property.name, tag === undefined ? undefined : ts.displayPartsToString(tag.text)]
    }),
  )
}

/** The tables of a page whose first columns are `option` and `default`; a row may have several options. */
function pageTables(markdown: string): Options[] {
  const tables = markdown.matchAll(/^\| option \| default \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)
  const entriesOf = (row: string) => {
    const [, first = '', second = ''] = row.split(/(?<!\\)\|/)
    const [names, values] = [codeOf(first), codeOf(second)]
    const isLiteral = values.length === names.length && /^`[^`]*`(?:, `[^`]*`)*$/.test(second.trim())
    return names.map((name, index) => [name, (isLiteral && values[index]) || second.trim()] as const)
  }
  return [...tables].map(([, rows = '']) => new Map(rows.trimEnd().split('\n').flatMap(entriesOf)))
}

const codeOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
const missingFrom = (some: Options, others: Options) => [...some.keys()].filter((name) => !others.has(name))

/** Compares the defaults that are literals in both. */
function otherDefaults(options: Options, table: Options): string[] {
  return [...options].flatMap(([name, value]) => {
    const [shown, declared] = [literal(table.get(name)), literal(value)]
    if (shown === null || declared === null || shown === declared) return []
    return `${name}: ${shown} in the page, ${declared} in the type`
  })
}

function literal(text: string | undefined): string | null {
  if (text === undefined) return null
  const whole = text.replace(/(?<=\d)_(?=\d)/g, '')
  return /^(?:-?\d+|true|false|'[^']*'|\[.*\]|\{.*\})$/.test(whole) ? whole : null
}
