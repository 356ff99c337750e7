/** The reports, charts and pages of the costs are what the results in the repository say. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { chart } from '../../bench/chart.js'
import { performancePage, sections } from '../../bench/page.js'
import { markdownReport, suiteReport, textReport, verdict } from '../../bench/report.js'
import { readResults } from '../../bench/results.js'
import { microScenario } from '../../bench/scenario.js'
import { scenarioNames } from '../../bench/scenarios.js'

const results = readResults()
const item = results.get('item')
if (item === undefined) throw new Error('there is no result of the scenario item')
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

t.test('docs/performance.md is made of the results', async (t) => {
  t.equal(read('docs/performance.md'), performancePage(results))
  t.ok(read('docs/performance.md').length < 25_000, 'it stays short')
})

t.test('the pages and charts of the scenarios are made of the same data', async (t) => {
  for (const [name, report] of results) {
    t.equal(read(`bench/results/${name}.md`), markdownReport(report))
    t.equal(read(`bench/results/${name}.svg`), chart(report))
  }
  const files = readdirSync(new URL('../../bench/results', import.meta.url))
  const names = new Set(files.map((file) => file.split('.')[0]))
  t.strictSame([...names].sort(), [...results.keys()].sort(), 'no file is left of a scenario that is gone')
})

t.test('each scenario is in one section', async (t) => {
  const listed = sections.flatMap(({ scenarios }) => scenarios)
  t.strictSame([...listed].sort(), [...scenarioNames(), 'soak'].sort())
  for (const name of results.keys()) t.ok(listed.includes(name), name)
})

t.test('the page has a row for each plugin', async (t) => {
  for (const folder of readdirSync(new URL('../../src/plugins', import.meta.url))) {
    const plugin = folder.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    t.match(performancePage(results), `\n| \`${plugin}\` | `)
  }
})

t.test('what is dearer than a peer is marked, and what is above its bound is listed', async (t) => {
  const ratio = { value: 9.5, min: 9.5, max: 9.5 }
  const rows = item.rows.map((row) =>
    row.variant === 'preset' ? { ...row, ratio, bounds: [{ max: 9, ratio }] } : row,
  )
  const page = performancePage(new Map(results).set('item', { ...item, rows }))
  t.match(page, /the whole preset.*\*\*9\.50\*\*/)
  t.match(page, '`preset` 9.50 (ABOVE 9.00)')
})

t.test('a scenario without a result is named; a variant that is gone is an error', async (t) => {
  t.match(performancePage(new Map([['item', item]])), '### soak\n\nNot measured yet.')
  const rows = item.rows.filter(({ variant }) => variant !== 'preset')
  t.throws(() => performancePage(new Map(results).set('item', { ...item, rows })), {
    message: "bench/results/item.json has no variant 'preset'",
  })
})

const run = () => 1
const sum = microScenario({
  title: 'adding <two> & more',
  baseline: 'plain',
  callsPerRound: 1,
  sameResult: true,
  bounds: { clever: { max: 0.3 }, brilliant: [{ max: 0.1 }, { max: 1, to: 'clever' }] },
  variants: {
    plain: { about: 'one by one', run },
    clever: { about: 'all at once', run },
    brilliant: { about: 'not at all', run },
  },
})
const samples = { plain: [10, 10, 20], clever: [3.01, 4, 12], brilliant: [6, 2, 3] }
const report = suiteReport('sum', sum, samples, { Rounds: 3 })

t.test('a report compares each ratio, as it is printed, with its bounds', async (t) => {
  t.strictSame(textReport(report).split('\n'), [
    'sum: adding <two> & more',
    '  variant    CPU ns per call  ratio to plain    min–max                                    bound',
    '  plain                 10.0            1.00',
    '  clever                3.01            0.30  0.30–0.60                              within 0.30',
    '  brilliant             2.00            0.20  0.15–0.60  ABOVE 0.10; 0.66 of clever, within 1.00',
  ])
  t.strictSame(report.rows.map(verdict)[0], '', 'nothing without a bound')
})

t.test(
  'a chart has a bar for each variant, a spread for all but the baseline, and marks of bounds',
  async (t) => {
    const svg = chart(report)
    const count = (shape: string) => svg.split(`class="${shape}"`).length - 1
    t.strictSame(['base', 'bar', 'spread', 'bound'].map(count), [1, 2, 2, 2])
    t.match(svg, 'adding &lt;two&gt; &amp; more')
    const widths = [...svg.matchAll(/<rect class="ba\w+" x="\d+" y="\d+" width="([\d.]+)"/g)]
    const [base, clever] = widths.map(([, width]) => Number(width))
    t.ok(Math.abs(Number(clever) / Number(base) - 0.301) < 0.005, 'in proportion')
  },
)
