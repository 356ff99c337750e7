/** The sidebar of the site lists all pages. */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { sidebar } from '../../site/sidebar.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('each page of docs/ is listed once, and each listed page exists', async (t) => {
  const pages = sidebar.flatMap((group) => group.pages)
  const files = readdirSync(`${root}docs`).filter((file) => file.endsWith('.md'))
  t.strictSame(
    pages.filter((page) => page.startsWith('docs/')).sort(),
    files.map((file) => `docs/${file}`).sort(),
  )
  for (const page of pages) t.ok(existsSync(root + page), page)
})
