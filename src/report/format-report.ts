import { oneOf } from '../options.js'
import { counted } from '../text.js'
import { adviceHeader, adviceRows, exceptBy, groupRows, joinRows, pageOf } from './advice.js'
import type { Effect, Exception, Finding, Observation } from './findings.js'
import type { ConventionsReport } from './report.js'
import { type TableRow, textTable, withoutRepeats } from './text-table.js'

/** The forms of {@link formatReport}. */
const reportFormats = ['table', 'json', 'markdown', 'github'] as const

/** A form of {@link formatReport}. */
export type ReportFormat = (typeof reportFormats)[number]

/** How much a row of the report matters: an error stops the boot, a warning changes responses, a notice does neither. */
type Severity = 'error' | 'warning' | 'notice'

/**
 * Returns a report as text, to print it. Rows are sorted by what `enforce` does: first what stops the boot, then what
 * refuses requests, what changes them, and what adds header fields; then by route. A route is one row with all its rules, and
 * routes with one cause are one row. No line of a table is wider than 100 characters.
 *
 * - `table`: for a terminal
 * - `json`: the report itself, indented; findings, exceptions and observations of one route have the same `route`
 * - `markdown`: for a pull request or a job summary
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

/** Returns how much an effect of `enforce` matters. */
function severityOf(effect: Effect): Severity {
  return severities[effect]
}

const checkFormat = oneOf(...reportFormats)

const severities: Readonly<Record<Effect, Severity>> = {
  'boot stopped': 'error',
  refused: 'warning',
  changed: 'warning',
  'header added': 'notice',
  none: 'notice',
}

const effects = Object.keys(severities)

/** A finding, an observation, or an exception that is not needed. */
interface Row {
  readonly route: string
  readonly rule: string
  readonly effect: Effect
  /** The effect in words, with the status of a refusal. */
  readonly does: string
  readonly problem: string
  readonly instead: string
  /** How to except the route. */
  readonly except: string
  /** The page about the convention. */
  readonly page: string
}

const formatters: Readonly<Record<ReportFormat, (report: ConventionsReport) => string>> = {
  table: (report) => sections(report, plainTable),
  json: (report) => JSON.stringify(report, null, 2),
  markdown: (report) => sections(report, markdownTable),
  github: (report) => rowsOf(report).map(annotation).join('\n'),
}

type Table = (header: readonly string[], rows: readonly TableRow[]) => string

function sections(report: ConventionsReport, table: Table): string {
  const rows = rowsOf(report)
  const groups = groupRows(rows, ({ does, route }) => `${does} ${route}`)
  const kept = exceptionRows(report.exceptions.filter(({ declared }) => declared))
  return [
    summaryOf(report),
    ...(rows.length === 0
      ? []
      : [
          table(
            ['route', 'rule', 'under enforce', 'what is wrong', 'write instead'],
            groups.map((ofRoute) =>
              ofRoute.map(({ route, rule, does, problem, instead }) => [route, rule, does, problem, instead]),
            ),
          ),
          table(adviceHeader, adviceRows(groups.flat())),
        ]),
    ...(kept.length === 0
      ? []
      : [
          table(
            ['exception for', 'rules', 'reason'],
            kept.map(({ route, rules, reason }) => [[route, rules, reason]]),
          ),
        ]),
    ...withoutRules(report.exceptions.filter(({ declared }) => !declared)),
  ].join('\n\n')
}

function summaryOf({ findings, observations, exceptions }: ConventionsReport): string {
  return [
    counted(findings.length, 'finding'),
    counted(observations.length, 'observation'),
    counted(exceptions.filter(({ declared }) => declared).length, 'exception'),
  ].join(', ')
}

/** Returns a line with the number of routes to which rules do not apply for what they are, per reason; none without them. */
function withoutRules(exceptions: readonly Exception[]): string[] {
  const routes = new Map<string, Set<string>>()
  for (const { reason, route } of exceptions) {
    routes.set(reason, (routes.get(reason) ?? new Set()).add(route))
  }
  const parts = [...routes].map(([reason, { size }]) => `${counted(size, 'route')} (${printable(reason)})`)
  return parts.length === 0 ? [] : [`Checked in part or not at all: ${parts.join(', ')}.`]
}

function rowsOf({ findings, observations, exceptions }: ConventionsReport): Row[] {
  const rows = [
    ...findings.map(rowOfFinding),
    ...observations.map(rowOfObservation),
    ...exceptions.filter(({ unused }) => unused).map(rowOfUnused),
  ]
  const sorted = rows.sort(
    (one, other) =>
      effects.indexOf(one.effect) - effects.indexOf(other.effect) ||
      (one.route < other.route ? -1 : Number(one.route > other.route)),
  )
  return joinRows(sorted, ({ route: _, ...cause }) => Object.values(cause))
}

/** A row of the exceptions that are needed. */
interface ExceptionRow {
  readonly route: string
  readonly rules: string
  readonly reason: string
}

/** Returns the exceptions that are needed: first routes with the same rules are joined, then rules of the same routes. */
function exceptionRows(exceptions: readonly Exception[]): ExceptionRow[] {
  const rows = exceptions
    .filter(({ unused }) => !unused)
    .map(({ route, plugin, rules, reason }) => ({ route, reason, rules: summaryOfRules(plugin, rules) }))
  const byRules = joinRows(rows, ({ rules, reason }) => [rules, reason])
  const swapped = byRules.map(({ route, rules, reason }) => ({ route: rules, routes: route, reason }))
  return joinRows(swapped, ({ routes, reason }) => [routes, reason], Number.POSITIVE_INFINITY).map(
    ({ route: rules, routes: route, reason }) => ({ route, rules, reason }),
  )
}

function summaryOfRules(plugin: string, rules: readonly string[]): string {
  if (rules.length <= maxRules) return rulesOf(plugin, rules)
  return plugin === 'conventions' ? counted(rules.length, 'convention') : `${plugin} (${rules.length} rules)`
}

const maxRules = 3

function rowOfFinding({ route, plugin, rule, effect, problem, instead }: Finding): Row {
  return { route, ...advice(plugin, rule), effect, does: effect, problem, instead }
}

function rowOfObservation({ route, plugin, rule, effect, status, example, count }: Observation): Row {
  const does = status === undefined ? effect : `${effect} with ${status}`
  const problem = `${example} (${counted(count, 'request')})`
  return { route, ...advice(plugin, rule), effect, does, problem, instead: '' }
}

function rowOfUnused({ route, plugin, rules }: Exception): Row {
  const problem = 'the exception is not needed: the rules are kept'
  return {
    route,
    rule: rulesOf(plugin, rules),
    effect: 'none',
    does: 'none',
    problem,
    instead: 'remove the exception',
    except: '',
    page: pageOf(plugin),
  }
}

function advice(plugin: string, rule: string): Pick<Row, 'rule' | 'except' | 'page'> {
  return { rule: `${plugin}.${rule}`, except: exceptBy(plugin, rule), page: pageOf(plugin, rule) }
}

function rulesOf(plugin: string, rules: readonly string[]): string {
  return rules.map((rule) => `${plugin}.${rule}`).join(', ')
}

const plainTable: Table = (header, rows) =>
  textTable(
    header,
    rows.map((lines) => lines.map((cells) => cells.map(printable))),
  )

const markdownTable: Table = (header, rows) =>
  [header, header.map(() => '---'), ...rows.map(markdownCells)]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

function markdownCells(row: TableRow): string[] {
  const lines = withoutRepeats(row)
  const [first = []] = lines
  return first.map((_, column) =>
    lines
      .map((cells) => inMarkdown(cells[column] ?? ''))
      .join('<br>')
      .replace(/(?:<br>)+$/, ''),
  )
}

function inMarkdown(text: string): string {
  return printable(text).replace(/[\\`*_[\]<>#|~]/g, String.raw`\$&`)
}

/** Returns a workflow command of GitHub Actions. A percent sign begins an escape there, and a comma ends the title. */
function annotation({ route, rule, effect, does, problem, instead, except, page }: Row): string {
  const write = instead === '' ? '' : `; write instead: ${instead}`
  const or = except === '' ? '' : `; or except it by ${except}`
  const text = printable(`${route}: ${problem} (under enforce: ${does})${write}${or}; see ${page}`)
  const title = data(rule).replaceAll(':', '%3A').replaceAll(',', '%2C')
  return `::${severityOf(effect)} title=${title}::${data(text)}`
}

function data(text: string): string {
  return text.replaceAll('%', '%25')
}

/** Returns a text in one line without control characters: examples are from requests. */
function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
