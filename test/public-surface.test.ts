/**
 * What users import, pinned: a name that comes, goes or moves is a visible change of `public-surface.json`.
 * To accept it: `npm run build && UPDATE_PUBLIC_SURFACE=1 npm test -- test/public-surface.test.ts && npm run format`,
 * then read the diff.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, unknown>>
}

/** How one kind of consumer gets at the package. */
interface Format {
  readonly name: string
  /** Extension of the declarations that TypeScript reads for this kind of consumer. */
  readonly declarations: string
  load(specifier: string): Promise<Readonly<Record<string, unknown>>>
}

const root = new URL('../', import.meta.url)
const snapshot = new URL('public-surface.json', import.meta.url)
const require = createRequire(import.meta.url)
const manifest: Manifest = readJson(new URL('package.json', root))
const subpaths = Object.keys(manifest.exports).filter((subpath) => subpath !== './package.json')
const plugins = readdirSync(new URL('src/plugins', root))

const esm: Format = { name: 'ESM', declarations: 'd.ts', load: (specifier) => import(specifier) }
const cjs: Format = { name: 'CommonJS', declarations: 'd.cts', load: async (path) => require(path) }

t.test('the exported names are those of the snapshot', async (t) => {
  const surface = await surfaceOf(esm)
  t.same(await surfaceOf(cjs), surface, 'CommonJS exports what ESM exports')
  if (process.env.UPDATE_PUBLIC_SURFACE) writeFileSync(snapshot, JSON.stringify(surface))
  t.same(surface, readJson(snapshot), 'as committed')
})

t.test('every plugin has a subpath, and every other subpath is known', async (t) => {
  const others =
    './client ./convention ./dev-issuer ./engines/bullmq ./engines/pg-boss ./stores/postgres ./stores/redis ./testing ./typebox ./zod'
  const expected = ['.', ...plugins.map((plugin) => `./${plugin}`), ...others.split(' ')]
  t.same(subpaths.toSorted(), expected.toSorted(), 'src/plugins and package.json agree')
})

t.test('package.json can be read through the package', async (t) => {
  const seen: Manifest = readJson(require.resolve(`${manifest.name}/package.json`))
  t.equal(seen.version, manifest.version)
})

for (const format of [esm, cjs]) {
  t.test(`${format.name}: a subpath exports the same plugin as the root`, async (t) => {
    const whole = await format.load(manifest.name)
    t.ok(isPlugin(whole.default), 'the default export of the root is a plugin')
    for (const file of plugins) {
      const name = file.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
      const plugin = (await format.load(`${manifest.name}/${file}`))[name]
      t.ok(isPlugin(plugin), `${file} exports the plugin ${name}`)
      t.equal(whole[name], plugin, `the root exports the same ${name}: nothing of it is there twice`)
    }
  })
}

/** The names that the same subpaths export: the values by the running code, the types by its declarations. */
async function surfaceOf(format: Format) {
  const declared = declaredNames(format)
  const values: Record<string, string> = {}
  const types: Record<string, string> = {}
  for (const subpath of subpaths.toSorted()) {
    const module = await format.load(manifest.name + subpath.slice(1))
    for (const name of new Set([...Object.keys(module), ...(declared[subpath] ?? [])])) {
      // Node's view of a CommonJS module has two names of its own.
      if (name === '__esModule' || name === 'module.exports') continue
      const names = name in module ? values : types
      names[name] = name in names ? `${names[name]} ${subpath}` : subpath
    }
  }
  return { values: bySubpaths(values), types: bySubpaths(types) }
}

function declaredNames({ declarations }: Format): Record<string, readonly string[]> {
  const fileOf = (subpath: string) => {
    const name = subpath === '.' ? 'index' : subpath.slice('./'.length)
    return fileURLToPath(new URL(`dist/${name}.${declarations}`, root))
  }
  const program = ts.createProgram(subpaths.map(fileOf), { module: ts.ModuleKind.NodeNext, types: ['node'] })
  const checker = program.getTypeChecker()
  return Object.fromEntries(
    subpaths.map((subpath) => {
      const file = program.getSourceFile(fileOf(subpath))
      const module = file && checker.getSymbolAtLocation(file)
      return [subpath, module ? checker.getExportsOfModule(module).map(({ name }) => name) : []]
    }),
  )
}

function bySubpaths(subpathsOf: Record<string, string>): Record<string, string> {
  const names: Record<string, string> = {}
  for (const [name, exporting] of Object.entries(subpathsOf).sort())
    names[exporting] = exporting in names ? `${names[exporting]} ${name}` : name
  return Object.fromEntries(Object.entries(names).sort())
}

function isPlugin(value: unknown): boolean {
  return typeof value === 'function' && Reflect.get(value, Symbol.for('skip-override')) === true
}

function readJson<T>(file: URL | string): T {
  return JSON.parse(readFileSync(file, 'utf8'))
}
