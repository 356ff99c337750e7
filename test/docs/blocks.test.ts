/** The blocks of the pages: code parses, what it imports from the package exists, and JSON is JSON. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import t from 'tap'
import { type Block, blocksOf } from './markdown.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const surface: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(
  readFileSync(`${root}test/public-surface.json`, 'utf8'),
)
const pages = ['README.md', 'bench/README.md', ...inFolder('docs'), ...inFolder('examples/demo-server')]

/** What stands in a block of a language, other than code and JSON. */
const texts = new Set(['', 'csv', 'diff', 'html', 'http', 'mermaid', 'sh', 'text', 'xml', 'yaml'])

for (const page of pages) {
  t.test(page, async (t) => {
    const blocks = blocksOf(readFileSync(root + page, 'utf8'))
    for (const [index, block] of blocks.entries()) {
      const fault = await faultOf(block)
      t.equal(fault, null, `block ${index + 1}: ${block.text.slice(0, 60)}`)
    }
  })
}

t.test('faults of blocks are found', async (t) => {
  const of = (language: string, text: string) => faultOf({ language, text, shown: null })
  t.match(await of('js', 'const = 1'), /Expected identifier/)
  t.match(await of('js', "import { nothing } from 'fastify-conventions'"), 'has no export nothing')
  t.match(await of('ts', "import type { Nothing } from 'fastify-conventions'"), 'has no export Nothing')
  t.match(await of('cjs', "const { nothing } = require('fastify-conventions/caching')"), 'no export nothing')
  t.match(await of('js', "import { a } from 'fastify-conventions/none'"), 'there is no subpath /none')
  t.match(await of('json', '{ a: 1 }'), /JSON/)
  t.match(await of('python', ''), 'not a language')
  t.equal(await of('js', "import c, { caching } from 'fastify-conventions'\napp.get('/', …)"), null)
  t.equal(await of('json', '{ "a": […], … }'), null)
})

/** Returns what is wrong with a block; `…` stands for code or members that are left out. */
async function faultOf({ language, text }: Block): Promise<string | null> {
  if (texts.has(language)) return null
  if (language === 'json') return faultOfJson(text)
  if (!['js', 'cjs', 'ts'].includes(language)) return `${language}: not a language of the pages`
  try {
    const code = text.replaceAll('…', '$')
    // Some blocks are a member of the options, such as `quotas: [ … ]`.
    await transform(/^\w+: /.test(code) ? `({ ${code} })` : code, { loader: 'ts' })
  } catch (error) {
    return (error as Error).message
  }
  return faultOfImports(text)
}

function faultOfJson(text: string): string | null {
  const whole = text
    .replace(/,?\s*…(?=\s*[\]}])/g, '')
    .replace(/…\s*,/g, '')
    .replace(/([[:,]\s*)…/g, '$1null')
  try {
    JSON.parse(whole)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

function faultOfImports(code: string): string | null {
  const imports = [
    ...code.matchAll(/^import (?:type )?(?:\w+, )?\{([^}]*)\} from '(fastify-conventions[^']*)'/gm),
    ...code.matchAll(/\bconst \{([^}]*)\} = require\('(fastify-conventions[^']*)'\)/g),
  ]
  for (const [, names = '', specifier = ''] of imports) {
    const exported = exportsOf(specifier)
    if (exported.length === 0) return `there is no subpath ${specifier.replace(/^[^/]*/, '')}`
    for (const one of names.split(',')) {
      const [name = ''] = one
        .trim()
        .replace(/^type /, '')
        .split(/ as |:/)
      if (name !== '' && !exported.includes(name)) return `${specifier} has no export ${name}`
    }
  }
  return null
}

/** The names of a subpath, with those of types, as `test/public-surface.test.ts` compares them with the package. */
function exportsOf(specifier: string): readonly string[] {
  const subpath = specifier.replace('fastify-conventions', '.')
  const names = Object.values(surface).flatMap((all) => Object.entries(all))
  return names.filter(([, subpaths]) => subpaths.split(' ').includes(subpath)).map(([name]) => name)
}

function inFolder(folder: string): string[] {
  const files = readdirSync(root + folder).filter((file) => file.endsWith('.md'))
  return files.map((file) => `${folder}/${file}`)
}
