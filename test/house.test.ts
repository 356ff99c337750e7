/** Who may import whom: no cycles, and the linter catches files that break the rules. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import t from 'tap'

t.test('the imports of src/ have no cycle', async (t) => {
  const all = readdirSync('src', { recursive: true, encoding: 'utf8' })
  const files = all.filter((file) => file.endsWith('.ts'))
  const imports = files.map(
    (file) => [file, importsOf(file, readFileSync(join('src', file), 'utf8'))] as const,
  )
  t.strictSame(cyclesOf(new Map(imports)), [])
})

t.test('a cycle of imports is found, also of type imports', async (t) => {
  const files = { 'a.ts': ['b.ts'], 'b.ts': ['c.ts', 'd.ts'], 'c.ts': ['a.ts'], 'd.ts': [] }
  t.strictSame(cyclesOf(new Map(Object.entries(files))), [['a.ts', 'b.ts', 'c.ts']])
  const source = "import type { B } from './b.js'\nexport * from '../c.js'\nawait import('./d.js')"
  t.strictSame(importsOf('x/a.ts', source), ['x/b.ts', 'c.ts', 'x/d.ts'])
})

t.test('the table in CONTRIBUTING.md has all folders of src/', async (t) => {
  const rows = readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/^\| `src\/([^`]+)` \|/gm)
  const tree = readdirSync('src', { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  )
  t.strictSame([...rows].map(([, name]) => name).sort(), tree.sort())
})

const fastify = "import type { FastifyRequest } from 'fastify'"

// What a file must not import, and what it may.
const rules: readonly [file: string, refused: readonly string[], allowed: readonly string[]][] = [
  [
    'src/plugins/cors/origins.ts',
    [
      fastify,
      "import { caching } from '../caching/index.js'",
      "import type { CachingOptions } from '../caching/options.js'",
      "import { conventions } from '../../preset.js'",
      "import { cors } from './index.js'",
      "import { postgresOperations } from '../../stores/postgres.js'",
    ],
    [
      "import { corsChecks } from './options.js'",
      "import { oneOf } from '../../options.js'",
      "import { ProblemError } from '../../problem/problem-error.js'",
    ],
  ],
  ['src/plugins/cors/index.ts', ["import { fields } from '../fields/index.js'"], [fastify]],
  ['src/plugins/cors/options.ts', ["import Fastify from 'fastify'"], [fastify]],
  [
    'src/plugins/operations/stores/store.ts',
    [fastify, "import { lists } from '../../lists/index.js'", "import { operations } from '../index.js'"],
    ["import { isOverdue } from '../record.js'", "import { clip } from '../../../text.js'"],
  ],
  [
    'src/plugins/operations/engines/bullmq.ts',
    [fastify, "import { lists } from '../../lists/index.js'"],
    ["import { record } from '../record.js'"],
  ],
  [
    'src/convention/registry.ts',
    ["import { cors } from '../plugins/cors/index.js'", "import { conventions } from '../preset.js'"],
    [fastify, "import { ProblemError } from '../problem/problem-error.js'"],
  ],
  ['src/problem/problem-of.ts', ["import { cors } from '../plugins/cors/index.js'"], [fastify]],
  ['src/report/report.ts', ["import { serverOptions } from '../server-options.js'"], [fastify]],
  [
    'src/http/vary.ts',
    [
      fastify,
      "import { refuse } from '../problem/send-problem.js'",
      "import { hookError } from '../convention/exchange.js'",
    ],
    ["import { invalid } from '../options.js'"],
  ],
  ['src/json/writer.ts', [fastify, "import { reporterOf } from '../report/report.js'"], []],
  ['src/schema/shape.ts', [fastify], ["import { int64 } from '../json/int64.js'"]],
  ['src/options.ts', [fastify, "import { statusText } from './http/status.js'"], []],
  ['src/words/words.ts', ["import { json } from '../json/writer.js'"], []],
  [
    'src/client/polling.ts',
    ["import { clip } from '../text.js'", fastify],
    ["import { readState } from './operation-state.js'"],
  ],
]

t.test('the linter refuses imports of another plugin, upwards, and of Fastify elsewhere', async (t) => {
  const folder = t.testdir()
  const config = JSON.parse(readFileSync('biome.json', 'utf8'))
  const own = { ...config, $schema: undefined, vcs: { enabled: false } }
  writeFileSync(join(folder, 'biome.json'), JSON.stringify(own))
  for (const [file, refused, allowed] of rules) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), `${[...refused, ...allowed].join('\n')}\n`)
  }
  const found = refusedLines(folder)
  for (const [file, refused, allowed] of rules) {
    for (const line of refused) t.ok(found.has(`${file}: ${line}`), `${file} must not: ${line}`)
    for (const line of allowed) t.notOk(found.has(`${file}: ${line}`), `${file} may: ${line}`)
  }
})

/** Returns the imports that the linter refuses, each behind its file. */
function refusedLines(folder: string): ReadonlySet<string> {
  const args = 'lint --only=style/noRestrictedImports --reporter=github --max-diagnostics=none .'.split(' ')
  const { stdout } = spawnSync(resolve('node_modules/.bin/biome'), args, { cwd: folder, encoding: 'utf8' })
  const places = stdout.matchAll(/noRestrictedImports,file=(?:\.\/)?([^,]+),line=(\d+)/g)
  return new Set(
    [...places].map(([, file = '', line]) => {
      const source = readFileSync(resolve(folder, file), 'utf8')
      return `${relative(folder, resolve(folder, file))}: ${source.split('\n')[Number(line) - 1]}`
    }),
  )
}

function importsOf(file: string, source: string): string[] {
  const specifiers = source.matchAll(/(?:\bfrom |\bimport\()'(\.[^']+)\.js'/g)
  return [...specifiers].map(([, path = '']) => join(file, '..', `${path}.ts`))
}

/** Returns the strongly connected components of more than one file (Tarjan). */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = []
  const visited = new Map<string, { readonly index: number; low: number }>()
  const open: string[] = []

  function visit(file: string): { readonly index: number; low: number } {
    const own = { index: visited.size, low: visited.size }
    visited.set(file, own)
    open.push(file)
    for (const next of imports.get(file) ?? []) {
      const known = visited.get(next)
      if (known === undefined) own.low = Math.min(own.low, visit(next).low)
      else if (open.includes(next)) own.low = Math.min(own.low, known.index)
    }
    if (own.low === own.index) {
      const component = open.splice(open.indexOf(file))
      if (component.length > 1) cycles.push(component.sort())
    }
    return own
  }

  for (const file of imports.keys()) if (!visited.has(file)) visit(file)
  return cycles
}
