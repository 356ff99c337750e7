/** The tables of options in docs/ list the options of the types, with their defaults. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folders = readdirSync(`${root}src/plugins`)
const resolution = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }
const program = ts.createProgram(folders.map(fileOf), { ...resolution, types: [] })
const checker = program.getTypeChecker()

/** The file with the types of the options: that of the plugin itself if they are few. */
function fileOf(folder: string): string {
  const own = `${root}src/plugins/${folder}/options.ts`
  return existsSync(own) ? own : `${root}src/plugins/${folder}/index.ts`
}

/** Names and defaults, as TypeScript or as a page has them. */
type Options = ReadonlyMap<string, string | undefined>

for (const folder of folders) {
  t.test(`docs/${folder}.md`, async (t) => {
    const name = folder.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase())
    const options = typeOptions(folder, `${name}Options`)
    const routeOptions = typeOptions(folder, `${name}RouteOptions`)
    const tables = pageTables(readFileSync(`${root}docs/${folder}.md`, 'utf8'))
    const table = tables.reduce((best, one) =>
      missingFrom(options, one).length < missingFrom(options, best).length ? one : best,
    )
    t.ok(options.size > 0)
    t.strictSame(missingFrom(options, table), [], 'each option of the type is in the table')
    t.strictSame(missingFrom(table, new Map([...routeOptions, ...options])), [], 'and no others')
    t.strictSame(otherDefaults(options, table), [], 'defaults are the same')
  })
}

/** The options of a type, with the text of `@default`. */
function typeOptions(folder: string, name: string): Options {
  const file = program.getSourceFile(fileOf(folder))
  const module = file && checker.getSymbolAtLocation(file)
  const found = module && checker.getExportsOfModule(module).find((one) => one.name === name)
  if (found === undefined) return new Map()
  const entries = checker.getDeclaredTypeOfSymbol(found).getProperties()
  return new Map(
    entries.map((property) => {
      const tag = property.getJsDocTags(checker).find((one) => one.name === 'default')
      return [property.name, tag === undefined ? undefined : ts.displayPartsToString(tag.text)]
    }),
  )
}

/** The tables of a page whose first columns are `option` and `default`; a row may have several options. */
function pageTables(markdown: string): Options[] {
  const tables = markdown.matchAll(/^\| option \| default \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)
  return [...tables].map(([, rows = '']) => {
    const entries = rows
      .trimEnd()
      .split('\n')
      .flatMap((row) => {
        const [, first = '', second = ''] = row.split(/(?<!\\)\|/)
        const names = codeOf(first)
        const values = codeOf(second)
        const isLiteral = values.length === names.length && /^`[^`]*`(?:, `[^`]*`)*$/.test(second.trim())
        return names.map((name, index): [string, string] => [
          name,
          (isLiteral ? values[index] : undefined) ?? second.trim(),
        ])
      })
    return new Map(entries)
  })
}

function codeOf(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}

function missingFrom(some: Options, others: Options): string[] {
  return [...some.keys()].filter((name) => !others.has(name))
}

/** Compares the defaults that are literals in both. */
function otherDefaults(options: Options, table: Options): string[] {
  return [...options].flatMap(([name, value]) => {
    const shown = literal(table.get(name))
    const declared = literal(value)
    if (shown === null || declared === null || shown === declared) return []
    return `${name}: ${shown} in the page, ${declared} in the type`
  })
}

function literal(text: string | undefined): string | null {
  if (text === undefined) return null
  const whole = text.replace(/(?<=\d)_(?=\d)/g, '')
  return /^(?:-?\d+|true|false|'[^']*'|\[.*\]|\{.*\})$/.test(whole) ? whole : null
}
