/** The site: links and anchors of the pages lead somewhere, and the sidebar lists them all. */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { anchorOf, deadLinks } from '../../site/links.js'
import { sidebar } from '../../site/sidebar.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('no page has a dead link or anchor', async (t) => {
  const folders = ['', 'docs/', 'examples/', 'examples/demo-server/', 'bench/', 'bench/results/']
  const pages = folders.flatMap((folder) =>
    readdirSync(root + folder)
      .filter((file) => file.endsWith('.md'))
      .map((file) => folder + file),
  )
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
  t.equal(anchorOf('Why not @fastify/etag'), 'why-not-fastifyetag')
  t.equal(anchorOf('What happens if the client sends …'), 'what-happens-if-the-client-sends-')
  t.equal(anchorOf('`PUT`, `PATCH` – and_more'), 'put-patch--and_more')
})

t.test('each page of docs/ is listed once, and each listed page exists', async (t) => {
  const pages = sidebar.flatMap((group) => group.pages)
  const files = readdirSync(`${root}docs`).filter((file) => file.endsWith('.md'))
  t.strictSame(
    pages.filter((page) => page.startsWith('docs/')).sort(),
    files.map((file) => `docs/${file}`).sort(),
  )
  for (const page of pages) t.ok(existsSync(root + page), page)
})
