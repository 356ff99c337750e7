import { type Ratio, ratioTo, type Samples, summarize, type VariantSummary } from './measure.js'
import type { Bound, Scenario } from './scenario.js'

/** All that a report says of one scenario. */
export interface SuiteReport {
  readonly name: string
  readonly title: string
  readonly baseline: string
  /** What the cost counts, such as `CPU µs per request`. */
  readonly unit: string
  readonly rows: readonly ReportRow[]
  /** How it was measured, by name. */
  readonly facts: Readonly<Record<string, string | number>>
}

/** One variant of a report. */
export interface ReportRow extends VariantSummary {
  readonly about: string
  readonly bounds: readonly BoundRatio[]
}

/** A bound, and the ratio that it is about. */
export interface BoundRatio extends Bound {
  readonly ratio: Ratio
}

/** What a report needs of a scenario. */
interface Described extends Pick<Scenario, 'kind' | 'title' | 'baseline' | 'bounds' | 'unit'> {
  readonly clock?: 'cpu' | 'time'
  readonly variants: Readonly<Record<string, { readonly about: string }>>
}

/** What the cost of a scenario counts, by its kind. */
export const units: Readonly<Record<Scenario['kind'], string>> = {
  load: 'CPU µs per request',
  boot: 'CPU ms per boot',
  micro: 'CPU ns per call',
  import: 'CPU ms per process',
  memory: 'MB',
}

/** Brings the figures together with what the scenario says about its variants. */
export function suiteReport(
  name: string,
  scenario: Described,
  samples: Samples,
  facts: SuiteReport['facts'],
): SuiteReport {
  const { title, baseline, variants, bounds, kind, clock } = scenario
  const unit = scenario.unit ?? (clock === 'time' ? 'µs per request' : units[kind])
  const rows = summarize(samples, baseline).map((summary) => ({
    ...summary,
    about: variants[summary.variant]?.about ?? '',
    bounds: [bounds?.[summary.variant] ?? []].flat().map((bound) => ({
      ...bound,
      ratio: ratioTo(samples, summary.variant, bound.to ?? baseline),
    })),
  }))
  return { name, title, baseline, unit, rows, facts }
}

/** The report as JSON, of which the pages and charts are made; six digits of each number. */
export function jsonReport(report: SuiteReport): string {
  const shortened = (_name: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(6)) : value
  return `${JSON.stringify(report, shortened, 1)}\n`
}

/** The report for a terminal. */
export function textReport(report: SuiteReport): string {
  const table = aligned([headings(report), ...report.rows.map((row) => cells(row, report.baseline))])
  return [`${report.name}: ${report.title}`, ...table.map((line) => `  ${line}`)].join('\n')
}

/** The report as a Markdown page. */
export function markdownReport(report: SuiteReport): string {
  const heads = [...headings(report), 'what runs']
  const rows = report.rows.map((row) => [...cells(row, report.baseline), row.about])
  return `${[
    `# ${report.name}`,
    '',
    `${report.title}.`,
    '',
    `![${report.name}: ratio to ${report.baseline}](./${report.name}.svg)`,
    '',
    markdownRow(heads),
    markdownRow(heads.map((_, column) => (column === 0 || column > 3 ? '---' : '---:'))),
    ...rows.map(markdownRow),
    '',
    ...Object.entries(report.facts).map(([fact, value]) => `- ${fact}: ${value}`),
    '',
    'How to read this: [bench/README.md](../README.md).',
  ].join('\n')}\n`
}

/** Whether the ratios are within the bounds, in words; empty where there is no bound. */
export function verdict(row: ReportRow): string {
  return row.bounds
    .map(({ max, to, ratio }) => {
      const kept = `${isKept({ max, ratio }) ? 'within' : 'ABOVE'} ${max.toFixed(2)}`
      return to === undefined ? kept : `${ratio.value.toFixed(2)} of ${to}, ${kept}`
    })
    .join('; ')
}

/** Whether a ratio is within its bound, as it is printed: nothing reads '1.10, above 1.10'. */
export function isKept({ max, ratio }: Pick<ReportRow['bounds'][number], 'max' | 'ratio'>): boolean {
  return Number(ratio.value.toFixed(2)) <= max
}

function headings(report: SuiteReport): string[] {
  return ['variant', report.unit, `ratio to ${report.baseline}`, 'min–max', 'bound']
}

function cells(row: ReportRow, baseline: string): string[] {
  const { value, min, max } = row.ratio
  const spread = row.variant === baseline ? '' : `${min.toFixed(2)}–${max.toFixed(2)}`
  return [row.variant, figure(row.cost), value.toFixed(2), spread, verdict(row)]
}

/** Three digits that count; all of a larger number. */
function figure(value: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)
}

/** One row of a Markdown table. */
export function markdownRow(columns: readonly string[]): string {
  return `| ${columns.map((column) => column.replaceAll('|', '\\|')).join(' | ')} |`
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}
