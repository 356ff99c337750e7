import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import type { UserConfig } from 'vitepress'
import { anchorOf, deadLinks } from '../links.js'
import { sidebar } from '../sidebar.js'

const root = resolve('.')
const { name, description, repository } = JSON.parse(readFileSync('package.json', 'utf8'))
const repositoryUrl = repository?.url.replace(/^git\+|\.git$/g, '')
const excluded = ['src', 'test', 'dist', 'site']

/** The pages are the files of the repository: the same Markdown is read there, on the page of the package, and here. */
const config: UserConfig = {
  title: name,
  description,
  srcDir: '..',
  srcExclude: excluded.map((folder) => `${folder}/**`),
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  outDir: '../.cache/site',
  cacheDir: '../.cache/vitepress',
  markdown: {
    languageAlias: { cjs: 'js' },
    anchor: { slugify: anchorOf },
    headers: { slugify: anchorOf },
    toc: { slugify: anchorOf },
    config(markdown) {
      markdown.core.ruler.push('links', ({ tokens, env }) => {
        for (const inline of tokens) {
          let isText = false
          inline.children = (inline.children ?? []).filter((token) => {
            if (token.type === 'link_close') return !isText
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (href === null) return true
            const link = linkOf(href, env.realPath ?? env.path)
            isText = link === undefined
            token.attrSet('href', link ?? '')
            return !isText
          })
        }
      })
    },
  },
  vite: {
    plugins: [
      {
        name: 'dead-links',
        buildStart() {
          const dead = deadLinks(
            root,
            sidebar.flatMap(({ pages }) => pages),
          )
          if (dead.length > 0) this.error(`dead links:\n${dead.join('\n')}`)
        },
      },
    ],
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: sidebar.map(({ title, pages: [first = ''] }) => ({ text: title, link: urlOf(first) })),
    sidebar: sidebar.map(({ title, pages }) => ({
      text: title,
      items: pages.map((page) => ({ text: titleOf(page), link: urlOf(page) })),
    })),
  },
}

export default config

function urlOf(page: string): string {
  return `/${page.replace(/(README)?\.md$/, '')}`
}

/** The heading of a page, up to its colon. */
function titleOf(page: string): string {
  const [, heading = page] = /^# (.*)$/m.exec(readFileSync(page, 'utf8')) ?? []
  return heading.replace(/: .*/, '').replaceAll('`', '')
}

/** Links to files that are not pages lead to the repository; without its URL they are text. */
function linkOf(href: string, page: string): string | undefined {
  const [path = '', anchor] = href.split('#')
  if (path === '' || /^[a-z]+:/.test(path)) return href
  const file = normalize(join(dirname(page), path))
  const relative = file.slice(root.length + 1)
  const isPage = path.endsWith('.md') && !excluded.includes(relative.split('/')[0] ?? '')
  if (!isPage && existsSync(file)) return repositoryUrl && `${repositoryUrl}/blob/main/${relative}`
  return `${path.replace(/README\.md$/, 'index.md')}${anchor === undefined ? '' : `#${anchor}`}`
}
