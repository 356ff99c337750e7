/** What the client weighs, and what it needs. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bundleClient } from './bundle-client.js'

const folder = fileURLToPath(new URL('../../src/client/', import.meta.url))
const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'))

t.test('is smaller than 4.5 kB, whole and minified', async (t) => {
  const { length } = Buffer.from(await bundleClient('esm'))
  t.ok(length > 1_000, 'there is something in it')
  t.ok(length < 4_500, `${length} bytes`)
})

t.test('imports nothing but its own files', async (t) => {
  t.ok(files.includes('index.ts'))
  for (const file of files) {
    const code = await readFile(join(folder, file), 'utf8')
    const imports = code.matchAll(/^(?:import|export)\s(?!type\s)[^'"]*from\s+['"]([^'"]+)['"]/gm)
    for (const [, from] of imports) t.match(from, /^\.\/[a-z-]+\.js$/, `${file} imports ${from}`)
    t.notMatch(code, /\bimport\(|^import\s+['"]|\brequire\(/m, file)
  }
})

t.test('needs no global of Node.js', async (t) => {
  const code = await bundleClient('esm')
  t.notMatch(code, /\b(?:process|Buffer|global|__dirname|setImmediate|require)\b|node:/)
})
