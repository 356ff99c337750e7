// Declares each ES module of package.json `exports` by the declarations of its CommonJS build: both builds have the same
// types, and the package has them once.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'

const root = new URL('../', import.meta.url)
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

for (const [subpath, target] of Object.entries(exports)) {
  const declarations = target.import?.types
  if (declarations === undefined || existsSync(new URL(declarations, root))) continue
  const commonJs = `./${posix.basename(target.require.default)}`
  // Named, because the default import of a CommonJS module is the whole module.
  const asDefault = subpath === '.' ? `export { conventions as default } from '${commonJs}'\n` : ''
  writeFileSync(new URL(declarations, root), `export * from '${commonJs}'\n${asDefault}`)
}
