/** Links and anchors of the pages lead somewhere. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { anchorOf, deadLinks } from '../../site/links.js'

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
  const folder = t.testdir({
    'README.md': [
      '# A `page`: its name',
      '[a](docs/a.md), [b](docs/a.md#two-words), [c](#a-page-its-name), [d](https://a.example/x)',
      '[gone](docs/gone.md), [no anchor](docs/a.md#three), [none here](#two-words), [outside](../x.md)',
      '![no picture](a.svg), <img src="b.svg">',
      '`[in code](gone.md)`',
      '```md',
      '[in a block](gone.md)',
      '```',
      '[reference]: gone.md',
    ].join('\n'),
    docs: {
      'a.md':
        '# A\n## Two words\n```sh\n# three\n```\n[back](../README.md) [again](#two-words-1)\n## Two words\n',
    },
  })
  const at = `${folder}/`
  t.strictSame(deadLinks(at, ['README.md', 'docs/a.md']), [
    'README.md: docs/gone.md: there is no such file',
    'README.md: docs/a.md#three: there is no such anchor',
    'README.md: #two-words: there is no such anchor',
    'README.md: ../x.md: there is no such file',
    'README.md: a.svg: there is no such file',
    'README.md: gone.md: there is no such file',
    'README.md: b.svg: there is no such file',
  ])
})

t.test('anchors are those of the host', async (t) => {
  for (const [heading, anchor] of [
    ['Why not @fastify/etag', 'why-not-fastifyetag'],
    ['409 from a constraint', '409-from-a-constraint'],
    ['What happens if the client sends …', 'what-happens-if-the-client-sends-'],
    ['`PUT`, `PATCH` – and_more', 'put-patch--and_more'],
  ] as const)
    t.equal(anchorOf(heading), anchor)
})
