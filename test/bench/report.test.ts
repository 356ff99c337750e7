import t from 'tap'
import { chart } from '../../bench/chart.js'
import {
  markdownReport,
  type ReportRow,
  type SuiteReport,
  suiteReport,
  textReport,
  verdict,
} from '../../bench/report.js'
import { microScenario } from '../../bench/scenario.js'

const one = { value: 1, min: 1, max: 1 }
const bare: ReportRow = { variant: 'bare', about: 'Fastify', cost: 11.04, ratio: one, bounds: [] }
const presetRatio = { value: 1.08, min: 1.02, max: 1.31 }
const preset: ReportRow = {
  variant: 'preset',
  about: 'all | of it',
  cost: 120.4,
  ratio: presetRatio,
  bounds: [{ max: 1.1, ratio: presetRatio }],
}

const report: SuiteReport = {
  name: 'item',
  title: 'GET of one <item> & more',
  baseline: 'bare',
  unit: 'CPU µs per request',
  rows: [bare, preset],
  facts: { Date: '2025-01-31', Rounds: 15 },
}

t.test('suiteReport', async (t) => {
  const scenario = microScenario({
    title: 'adding',
    baseline: 'plain',
    callsPerRound: 1,
    sameResult: true,
    bounds: { clever: { max: 0.5 }, brilliant: [{ max: 0.3 }, { max: 1, to: 'clever' }] },
    variants: {
      plain: { about: 'one by one', run: () => 1 },
      clever: { about: 'all at once', run: () => 1 },
      brilliant: { about: 'not at all', run: () => 1 },
    },
  })
  const samples = { plain: [10, 10, 20], clever: [4, 3, 12], brilliant: [2, 6, 3] }
  const made = suiteReport('sum', scenario, samples, { Rounds: 3 })
  const heads = { name: 'sum', title: 'adding', baseline: 'plain', unit: 'CPU ns per call' }
  t.match(made, { ...heads, facts: { Rounds: 3 } })
  const ratio = { value: 0.3, min: 0.3, max: 0.6 }
  const clever = { variant: 'clever', about: 'all at once', cost: 3, ratio }
  t.same(made.rows[1], { ...clever, bounds: [{ max: 0.5, ratio }] })
  t.same(made.rows[0]?.bounds, [])
  const toClever = { max: 1, to: 'clever', ratio: { value: 2 / 3, min: 0.25, max: 2 } }
  const ofBrilliant = { max: 0.3, ratio: { value: 0.2, min: 0.15, max: 0.6 } }
  t.same(made.rows[2]?.bounds, [ofBrilliant, toClever], 'that to another variant is taken by round, too')
})

t.test('verdict', async (t) => {
  const at = (value: number) => verdict({ ...preset, bounds: [{ max: 1.1, ratio: ratioAt(value) }] })
  t.equal(verdict(bare), '', 'nothing without a bound')
  t.equal(at(1.08), 'within 1.10')
  t.equal(at(1.1), 'within 1.10')
  t.equal(at(1.104), 'within 1.10', 'judged as printed')
  t.equal(at(1.106), 'ABOVE 1.10')

  const bounds = [
    { max: 1.2, ratio: presetRatio },
    { max: 0.95, to: 'peers', ratio: ratioAt(0.6) },
  ]
  t.equal(verdict({ ...preset, bounds }), 'within 1.20; 0.60 of peers, within 0.95')
  const above = [{ max: 0.95, to: 'peers', ratio: ratioAt(0.99) }]
  t.equal(verdict({ ...preset, bounds: above }), '0.99 of peers, ABOVE 0.95')
})

function ratioAt(value: number) {
  return { value, min: value / 2, max: value * 2 }
}

t.test('textReport', async (t) => {
  t.strictSame(textReport(report).split('\n'), [
    'item: GET of one <item> & more',
    '  variant  CPU µs per request  ratio to bare    min–max        bound',
    '  bare                   11.0           1.00',
    '  preset                  120           1.08  1.02–1.31  within 1.10',
  ])
})

t.test('markdownReport', async (t) => {
  t.equal(
    markdownReport(report),
    `# item

GET of one <item> & more.

![item: ratio to bare](./item.svg)

| variant | CPU µs per request | ratio to bare | min–max | bound | what runs |
| --- | ---: | ---: | ---: | --- | --- |
| bare | 11.0 | 1.00 |  |  | Fastify |
| preset | 120 | 1.08 | 1.02–1.31 | within 1.10 | all \\| of it |

- Date: 2025-01-31
- Rounds: 15

How to read this: [bench/README.md](../README.md).
`,
  )
})

t.test('chart', async (t) => {
  const long = 'a-variant-with-a-long-name'
  const ratioOf = (value: number, min: number, max: number) => ({ value, min, max })
  const bounds = [
    { max: 40, ratio: ratioAt(0.05) },
    { max: 90, to: long, ratio: ratioAt(0.004) },
  ]
  const wide: SuiteReport = {
    ...report,
    title: `a title that is far longer than the bars are wide, because ${'somebody had a lot to say '.repeat(3)}`,
    rows: [
      bare,
      { ...preset, variant: long, ratio: ratioOf(12.5, 0.2, 30) },
      { ...preset, variant: 'cheap', ratio: ratioOf(0.05, 0.04, 0.06), bounds },
    ],
  }

  t.test('is well-formed', async (t) => {
    const svg = chart(report)
    t.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [\s\S]*<\/svg>\n$/)
    t.match(svg, 'GET of one &lt;item&gt; &amp; more')
    t.notMatch(svg, /<item>/)
    t.notMatch(svg, /NaN|undefined|Infinity/)
    t.match(svg, '@media (prefers-color-scheme: dark)')
    t.notMatch(svg, /\n\n/)
  })

  t.test('has a bar per variant, a spread for each but the baseline, a mark per bound', async (t) => {
    const svg = chart(wide)
    t.equal(count(svg, /<rect class="base"/g), 1)
    t.equal(count(svg, /<rect class="bar"/g), 2)
    t.equal(count(svg, /<line class="spread"/g), 2)
    t.equal(count(svg, /<line class="bound"/g), 2)
    t.match(svg, 'blue: bound')
    t.notMatch(chart({ ...report, rows: [bare] }), 'blue: bound')
  })

  t.test('draws bars in proportion', async (t) => {
    const [base, bar] = [...chart(report).matchAll(/<rect class="ba\w+" x="\d+" y="\d+" width="([\d.]+)"/g)]
    t.ok(Math.abs(Number(bar?.[1]) / Number(base?.[1]) - 1.08) < 0.005)
  })

  t.test('keeps every label and every mark inside', async (t) => {
    for (const each of [report, wide, { ...report, rows: [bare] }]) {
      const svg = chart(each)
      const [, width = 0, height = 0] = (/viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []).map(Number)
      for (const [, x, y, label = ''] of svg.matchAll(/<text[^>]* x="([\d.-]+)" y="([\d.-]+)">([^<]*)</g)) {
        const shown = label.replaceAll(/&\w+;/g, '_')
        t.ok(Number(x) >= 0 && Number(x) + shown.length * 13 * 0.62 <= width, `${label} is within the width`)
        t.ok(Number(y) > 13 && Number(y) < height, `${label} is within the height`)
      }
      for (const [, at] of svg.matchAll(/ x[12]="([\d.-]+)"/g)) {
        t.ok(Number(at) >= 0 && Number(at) <= width, 'a line is inside')
      }
    }
  })
})

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}
