import { oneOf } from '../options.js'
import { counted, groupsOf } from '../text.js'
import type { ConventionsReport, Effect, Exception, Finding, Observation } from './findings.js'
import { exceptsRules, proposalOf } from './proposal.js'

const reportFormats = ['table', 'json', 'github'] as const

/** A form of {@link formatReport}. */
export type ReportFormat = (typeof reportFormats)[number]

/**
 * Returns a report as text, to print it. Rows are sorted by what `enforce` does: first what stops the boot, then what
 * refuses requests, what changes them, and what adds header fields; then by route. Routes with one cause are one row. No
 * line of a table is wider than 100 characters.
 *
 * - `table`: for a terminal
 * - `json`: the report itself, indented; findings, exceptions and observations of one route have the same `route`
 * - `github`: a workflow command per row, which GitHub Actions shows as an annotation; empty without rows
 *
 * ```ts
 * await app.ready()
 * console.log(formatReport(app.conventions.report()))
 * ```
 *
 * @throws FST_CONV_OPTION_INVALID if the format is none of these
 */
export function formatReport(report: ConventionsReport, format: ReportFormat = 'table'): string {
  return formatters[checkFormat('format', format)](report)
}

/** Returns findings that stop the boot as a table: route, rule, what is wrong, and what to write instead. */
export function findingsTable(findings: readonly Finding[]): string {
  const rows = rowsOf({ findings, observations: [] })
  return rowTables(rows, ['route', 'rule', 'problem', 'instead']).join('\n\n')
}

const checkFormat = oneOf(...reportFormats)

const formatters: Readonly<Record<ReportFormat, (report: ConventionsReport) => string>> = {
  table: sections,
  json: (report) => JSON.stringify(report, null, 2),
  github: (report) => rowsOf(report).map(annotation).join('\n'),
}

/** How much an effect matters: an error stops the boot, a warning changes responses, a notice does neither. */
const severities: Readonly<Record<Effect, 'error' | 'warning' | 'notice'>> = {
  'boot stopped': 'error',
  refused: 'warning',
  changed: 'warning',
  'header added': 'notice',
  none: 'notice',
}

const effects = Object.keys(severities)

interface Row {
  readonly route: string
  readonly rule: string
  readonly effect: Effect
  /** The effect in words, with the status of a refusal. */
  readonly does: string
  readonly problem: string
  readonly instead: string
  readonly except: string
  readonly page: string
}

const columns = {
  route: 'route',
  rule: 'rule',
  does: 'under enforce',
  problem: 'what is wrong',
  instead: 'write instead',
} as const

type Column = keyof typeof columns

function rowsOf({ findings, observations }: Pick<ConventionsReport, 'findings' | 'observations'>): Row[] {
  const rows = [...findings.map(rowOfFinding), ...observations.map(rowOfObservation)]
  return joinRows(rows.sort(byEffect), 'route', shownRoutes).sort(byEffect)
}

function byEffect(one: Row, other: Row): number {
  const byRoute = one.route < other.route ? -1 : Number(one.route > other.route)
  return effects.indexOf(one.effect) - effects.indexOf(other.effect) || byRoute
}

function rowOfFinding({ route, plugin, rule, effect, problem, instead }: Finding): Row {
  return { route, ...advice(plugin, rule, route), effect, does: effect, problem, instead }
}

function rowOfObservation({ route, plugin, rule, effect, status, example, count }: Observation): Row {
  const does = status === undefined ? effect : `${effect} with ${status}`
  const problem = `${example} (${counted(count, 'request')})`
  return { route, ...advice(plugin, rule, route), effect, does, problem, instead: '' }
}

function advice(plugin: string, rule: string, route: string): Pick<Row, 'rule' | 'except' | 'page'> {
  return { rule: `${plugin}.${rule}`, except: exceptBy(plugin, rule, route), page: pageOf(plugin, rule) }
}

function exceptBy(plugin: string, rule: string, route: string): string {
  if (rule === 'registration') return `earlierRoutes of ${plugin}`
  if (plugin === 'conventions') return ''
  // methodOverride acts before there is a route.
  if (rule === 'decorators' || plugin === 'methodOverride') return `${plugin}: false`
  if (!route.includes('/')) return ''
  return exceptsRules.has(plugin) ? `config.${plugin}.except: ['${rule}']` : `config.${plugin}: false`
}

/** Returns the page of a convention in this package, or of one of its rules that has a page of its own. */
export function pageOf(plugin: string, rule?: string): string {
  if (rule === 'decorators') return 'fastify-conventions/docs/decorators.md'
  const page =
    plugin === 'conventions' ? 'report' : plugin.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return `fastify-conventions/docs/${page}.md`
}

function sections(report: ConventionsReport): string {
  const { findings, observations, exceptions } = report
  const declared = exceptions.filter((exception) => exception.declared)
  const kept = exceptionRows(declared)
  const summary = [
    counted(findings.length, 'finding'),
    counted(observations.length, 'observation'),
    counted(declared.length, 'exception'),
  ]
  return [
    summary.join(', '),
    ...rowTables(rowsOf(report), ['route', 'rule', 'does', 'problem', 'instead']),
    ...(kept.length === 0 ? [] : [sparseTable(['exception for', 'rules', 'reason'], kept)]),
    ...withoutRules(exceptions.filter((exception) => !exception.declared)),
    ...toPaste(proposalOf(findings)),
    ...numbersOf(report),
  ].join('\n\n')
}

function toPaste(lines: readonly string[]): string[] {
  if (lines.length === 0) return []
  const what = 'To boot today, paste into the options of the preset, and write the reasons:'
  return [what, lines.map((line) => `  ${line}`).join('\n')]
}

/** Returns a line with how many routes break clients, change bytes, and do neither; none before the app is ready. */
function numbersOf({ routes, findings, observations }: ConventionsReport): string[] {
  const found = [...findings, ...observations]
  const withEffect = (...those: Effect[]) =>
    routes.filter((name) => found.some(({ route, effect }) => route === name && those.includes(effect)))
  const broken = withEffect('boot stopped', 'refused')
  const changed = withEffect('changed', 'header added').filter((route) => !broken.includes(route))
  const fine = routes.length - broken.length - changed.length
  const numbers = `break clients ${broken.length}, change bytes ${changed.length}, fine ${fine}`
  return routes.length === 0 ? [] : [`Under enforce, of ${counted(routes.length, 'route')}: ${numbers}`]
}

/** Returns a table of rows, and one that has for each rule how to except a route from it, and its page. */
function rowTables(rows: readonly Row[], shown: readonly Column[]): string[] {
  if (rows.length === 0) return []
  const rules = new Map<string, string[]>()
  for (const { rule, except, page } of rows) {
    // A row about all routes has no exception.
    if (except !== '' || !rules.has(rule)) rules.set(rule, [rule, except, page.replace(/^[^/]+\//, '')])
  }
  return [
    sparseTable(
      shown.map((column) => columns[column]),
      rows.map((row) => shown.map((column) => row[column])),
    ),
    sparseTable(['rule', 'except a route by', 'see, in fastify-conventions'], [...rules.values()]),
  ]
}

const maxRules = 3

/** Returns the exceptions as rows: the rules of a route and reason are joined, then the routes with the same rules. */
function exceptionRows(exceptions: readonly Exception[]): string[][] {
  const rows = exceptions.map(({ route, plugin, rules, reason }) => {
    const many =
      plugin === 'conventions' ? counted(rules.length, 'convention') : `${plugin} (${rules.length} rules)`
    const few = rules.map((rule) => `${plugin}.${rule}`).join(', ')
    return { route, rules: rules.length > maxRules ? many : few, reason }
  })
  const joined = joinRows(joinRows(rows, 'rules'), 'route', shownRoutes)
  return joined.map(({ route, rules, reason }) => [route, rules, reason])
}

/** Returns a line with the number of routes to which rules do not apply for what they are, per reason; none without them. */
function withoutRules(exceptions: readonly Exception[]): string[] {
  const parts = [...groupsOf(exceptions, ({ reason }) => reason)].map(([reason, ofReason]) => {
    const routes = new Set(ofReason.map(({ route }) => route))
    return `${counted(routes.size, 'route')} (${printable(reason)})`
  })
  return parts.length === 0 ? [] : [`Checked in part or not at all: ${parts.join(', ')}.`]
}

const shownRoutes = 3

/** Joins rows that differ in one member only: that of the first has the texts of all, at most the first `shown`. */
function joinRows<Name extends string, Row extends Readonly<Record<Name, string>>>(
  rows: readonly Row[],
  name: Name,
  shown = Number.POSITIVE_INFINITY,
): Row[] {
  const groups = groupsOf(rows, (row) => JSON.stringify({ ...row, [name]: '' }))
  return [...groups.values()].map((group) => {
    const texts = [...new Set(group.map((row) => row[name]))]
    const more = texts.length > shown ? ` and ${texts.length - shown} more` : ''
    return { ...group[0], [name]: texts.slice(0, shown).join(', ') + more }
  })
}

/** Returns a table in which a row does not repeat what the one above it has, if both are about one route. */
function sparseTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const sparse = rows.map((cells, index) => {
    const above = rows[index - 1]
    const isSame = (column: number) => above?.[0] === cells[0] && above?.[column] === cells[column]
    return cells.map((cell, column) => (isSame(column) ? '' : printable(cell)))
  })
  return textTable(header, sparse)
}

/** Returns a workflow command of GitHub Actions. A percent sign begins an escape there, and a comma ends the title. */
function annotation({ route, rule, effect, does, problem, instead, except, page }: Row): string {
  const write = instead === '' ? '' : `; write instead: ${instead}`
  const or = except === '' ? '' : `; or except it by ${except}`
  const text = printable(`${route}: ${problem} (under enforce: ${does})${write}${or}; see ${page}`)
  const data = (value: string) => value.replaceAll('%', '%25')
  const title = data(rule).replaceAll(':', '%3A').replaceAll(',', '%2C')
  return `::${severities[effect]} title=${title}::${data(text)}`
}

/** Returns a text in one line without control characters: examples are from requests. */
function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

const maxWidth = 100
const gap = '  '
const indent = '  '

/** Returns a table as text, at most 100 characters wide: columns under each other, and a line below the header. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = widthsOf([header, ...rows])
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd()
  const lines = (cells: readonly string[]) => {
    const parts = cells.map((cell, column) => wrap(cell, widths[column] ?? 0))
    const height = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, index) => line(parts.map((part) => part[index] ?? '')))
  }
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return [...lines(header), rule, ...rows.flatMap(lines)].join('\n')
}

/** Returns a text in lines of a width, broken at spaces, and within words that are too long. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = text
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > indent.length ? space : width
    lines.push(rest.slice(0, end))
    rest = indent + rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

/** Returns the width of each column: the widest are narrowed until all fit, down to their longest words if possible. */
function widthsOf([header = [], ...rows]: readonly (readonly string[])[]): number[] {
  const cells = header.map((title, column) => [title, ...rows.map((row) => row[column] ?? '')])
  const widths = cells.map((column) => Math.max(...column.map(({ length }) => length)))
  const words = cells.map((column) => Math.max(...column.map(longestWord)))
  let excess = widths.reduce((sum, width) => sum + width, (header.length - 1) * gap.length) - maxWidth
  for (; excess > 0; excess--) {
    const slack = widths.map((width, column) => (width > (words[column] ?? 0) ? width : 0))
    const of = slack.some((width) => width > 0) ? slack : widths
    const widest = of.indexOf(Math.max(...of))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

/** Returns how wide a column is whose cells break at spaces only. */
function longestWord(text: string): number {
  const [first = '', ...others] = text.split(' ')
  return Math.max(first.length, ...others.map(({ length }) => length + indent.length))
}
