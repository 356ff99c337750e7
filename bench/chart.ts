import { type ReportRow, type SuiteReport, verdict } from './report.js'

const fontSize = 13
// The widest glyphs of the monospaced fonts in use take 0.62 of the font size; nothing is wider than this estimate.
const glyph = fontSize * 0.62
const padding = 20
const rowHeight = 34
const barHeight = 18
const plotWidth = 420
const headHeight = 66

const style = `
    text { font: ${fontSize}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328 }
    .title { font-weight: 600 }
    .quiet { fill: #59636e }
    .card { fill: #ffffff; stroke: #d1d9e0 }
    .bar { fill: #9a6700 }
    .base { fill: #818b98 }
    .spread { stroke: #1f2328; stroke-width: 1.5 }
    .one { stroke: #818b98; stroke-dasharray: 3 3 }
    .bound { stroke: #0969da; stroke-width: 2 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .quiet { fill: #9198a1 }
      .card { fill: #0d1117; stroke: #3d444d }
      .bar { fill: #9e6a03 }
      .base { fill: #656c76 }
      .spread { stroke: #f0f6fc }
      .one { stroke: #656c76 }
      .bound { stroke: #4493f8 }
    }
  `

/** Where things are, for one report. */
interface Layout {
  readonly width: number
  readonly height: number
  /** Where a ratio of nothing is. */
  readonly left: number
  readonly valueLeft: number
  readonly x: (ratio: number) => number
}

/** The report as an SVG: one bar per variant for its ratio, a line for the spread, a mark for the bound. */
export function chart(report: SuiteReport): string {
  const layout = layOut(report)
  const { width, height, x } = layout
  const [title, subtitle] = titles(report)
  const one = x(1)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(`${title}: ${subtitle}`)}">`,
    `  <style>${style}</style>`,
    `  <rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>`,
    text(padding, padding + fontSize, title, 'title'),
    text(padding, padding + fontSize * 2.5, subtitle, 'quiet'),
    `  <line class="one" x1="${one}" x2="${one}" y1="${headHeight}" y2="${height - padding}"/>`,
    ...report.rows.flatMap((row, index) => bar(row, index, report.baseline, layout)),
    '</svg>',
    '',
  ].join('\n')
}

function layOut(report: SuiteReport): Layout {
  const left = Math.ceil(padding + longest(report.rows.map((row) => row.variant)) * glyph + 12)
  const reach = Math.max(1, ...report.rows.flatMap((row) => [row.ratio.max, ...marks(row)]))
  const valueLeft = left + plotWidth + 12
  const right = Math.max(
    valueLeft + longest(report.rows.map((row) => shownValue(row, report.baseline))) * glyph,
    padding + longest(titles(report)) * glyph,
  )
  return {
    width: Math.ceil(right + padding),
    height: headHeight + report.rows.length * rowHeight + padding,
    left,
    valueLeft,
    x: (ratio) => rounded(left + (ratio / reach) * plotWidth),
  }
}

function bar(row: ReportRow, index: number, baseline: string, { left, valueLeft, x }: Layout): string[] {
  const top = headHeight + index * rowHeight + (rowHeight - barHeight) / 2
  const middle = top + barHeight / 2
  const baselineOfText = middle + fontSize * 0.35
  const { value, min, max } = row.ratio
  const kind = row.variant === baseline ? 'base' : 'bar'
  const lines = [
    text(padding, baselineOfText, row.variant),
    `  <rect class="${kind}" x="${left}" y="${top}" width="${rounded(x(value) - left)}" height="${barHeight}" rx="2"/>`,
    text(valueLeft, baselineOfText, shownValue(row, baseline), 'quiet'),
  ]
  if (row.variant !== baseline) {
    lines.push(`  <line class="spread" x1="${x(min)}" x2="${x(max)}" y1="${middle}" y2="${middle}"/>`)
  }
  for (const at of marks(row).map(x)) {
    lines.push(`  <line class="bound" x1="${at}" x2="${at}" y1="${top - 5}" y2="${top + barHeight + 5}"/>`)
  }
  return lines
}

/** The bounds that stand on the scale of the bars; those to another variant stand in words. */
function marks(row: ReportRow): number[] {
  return row.bounds.filter(({ to }) => to === undefined).map(({ max }) => max)
}

function titles(report: SuiteReport): [title: string, subtitle: string] {
  const bounded = report.rows.some((row) => marks(row).length > 0)
  return [
    `${report.name}: ${report.title}`,
    `${report.unit}, as a ratio to ${report.baseline}; line: min–max${bounded ? '; blue: bound' : ''}`,
  ]
}

function shownValue(row: ReportRow, baseline: string): string {
  const { value, min, max } = row.ratio
  const spread = row.variant === baseline ? '' : ` (${min.toFixed(2)}–${max.toFixed(2)})`
  const bound = verdict(row)
  return `${value.toFixed(2)}${spread}${bound === '' ? '' : ` ${bound}`}`
}

function text(x: number, y: number, content: string, className?: string): string {
  const attribute = className === undefined ? '' : ` class="${className}"`
  return `  <text${attribute} x="${rounded(x)}" y="${rounded(y)}">${escaped(content)}</text>`
}

function longest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((content) => content.length))
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
