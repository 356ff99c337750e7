/** Links and anchors of the Markdown pages, as the host of the repository resolves them. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The anchor of a heading. The site uses it too, so that a link works in both places. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
}

/** Returns a line for each relative link of the pages whose file or anchor does not exist. Paths are relative to `root`. */
export function deadLinks(root: string, pages: readonly string[]): string[] {
  return pages.flatMap((page) =>
    linksOf(readFileSync(join(root, page), 'utf8'))
      .map((link) => ({ link, fault: faultOf(root, page, link) }))
      .filter(({ fault }) => fault !== null)
      .map(({ link, fault }) => `${page}: ${link}: ${fault}`),
  )
}

function faultOf(root: string, page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), decodeURI(path)))
  if (file.startsWith('..') || !existsSync(join(root, file))) return 'there is no such file'
  if (anchor === undefined || !file.endsWith('.md')) return null
  return anchorsOf(readFileSync(join(root, file), 'utf8')).has(anchor) ? null : 'there is no such anchor'
}

function linksOf(markdown: string): string[] {
  const text = withoutFences(markdown).replace(/`[^`]*`/g, '')
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)]
  const references = [...text.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/gm)]
  const attributes = [...text.matchAll(/\b(?:href|src|srcset)="([^"]*)"/g)]
  return [...inline, ...references, ...attributes]
    .map(([, link = '']) => link)
    .filter((link) => !/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(link))
}

function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutFences(markdown).matchAll(/^#{1,6} +(.*?)(?: +#+)? *$/gm)) {
    const anchor = anchorOf(heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1'))
    let unique = anchor
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`
    anchors.add(unique)
  }
  return anchors
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^( {0,3})(```+|~~~+)[^\n]*\n[\s\S]*?^ {0,3}\2[^\n]*$/gm, '')
}
