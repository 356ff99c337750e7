/** The page of the costs is what the results in the repository say. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { chart } from '../../bench/chart.js'
import { performancePage, sections } from '../../bench/page.js'
import { markdownReport } from '../../bench/report.js'
import { readResults } from '../../bench/results.js'
import { scenarioNames } from '../../bench/scenarios.js'

const results = readResults()
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

const item = results.get('item')
if (item === undefined) throw new Error('there is no result of the scenario item')

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
