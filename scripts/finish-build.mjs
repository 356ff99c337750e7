// Makes the package lighter after tsup:
// - The declarations of the ES modules become exports of those of the CommonJS build: the package has its types once, and a
//   type is the same whichever build a file imports.
// - The CommonJS build is minified. Of the ES modules only white space and long names go (tsup.config.ts), because bundlers
//   remove what an app does not import of declarations that stand alone.
// - The licences of the packages that are part of the build are in a file.
// - Each statement has a line of its own: Node.js prints the line that throws above an uncaught error.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { posix } from 'node:path'
import ts from 'typescript'

const require = createRequire(import.meta.url)
// The esbuild of tsup.
const { transformSync } = createRequire(require.resolve('tsup'))('esbuild')

const root = new URL('../', import.meta.url)
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

// TypeBox has types for ES modules only, so the declarations of the CommonJS build would not do for its users.
const kept = new Set(['dist/typebox.d.ts'])

for (const [subpath, target] of Object.entries(exports)) {
  const declarations = target.import?.types.slice('./'.length)
  if (declarations === undefined || kept.has(declarations)) continue
  const from = `from './${posix.basename(target.require.default)}'`
  // By its name, because the default import of a CommonJS module is the whole module.
  const asDefault = subpath === '.' ? `export { conventions as default } ${from}\n` : ''
  writeFileSync(new URL(declarations, root), `export * ${from}\n${asDefault}`)
  kept.add(declarations)
}

for (const name of readdirSync(new URL('dist', root), { recursive: true })) {
  const file = posix.join('dist', name)
  if (file.endsWith('.d.ts') && !kept.has(file)) rmSync(new URL(file, root))
  if (/\.c?js$/.test(file)) finishCode(file)
}

const inBuild = [
  '@fastify/error',
  '@fastify/merge-json-schemas',
  'dequal',
  'fastify-plugin',
  'pluralize',
  'toad-cache',
]
const licences = inBuild.map((name) => {
  const folder = new URL(`node_modules/${name}/`, root)
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  return `${name}\n\n${readFileSync(new URL(file, folder), 'utf8').trim()}\n`
})
writeFileSync(new URL('dist/licences.txt', root), licences.join('\n\n'))

function finishCode(file) {
  const path = new URL(file, root)
  const code = readFileSync(path, 'utf8')
  writeFileSync(path, inLines(file.endsWith('.cjs') ? minified(code) : code))
}

function minified(code) {
  return transformSync(code, { minify: true, target: 'node20', platform: 'node' }).code
}

/** Begins a line before each statement and each member of a class. */
function inLines(code) {
  const starts = []
  const visit = (node) => {
    for (const { pos } of node.statements ?? node.members ?? []) if (pos > 0) starts.push(pos)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('code.js', code, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS))
  starts.sort((one, other) => one - other)
  return (
    starts.map((start, index) => code.slice(starts[index - 1] ?? 0, start)).join('\n') +
    '\n' +
    code.slice(starts.at(-1))
  )
}
