import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { chart } from './chart.js'
import { performancePage } from './page.js'
import { jsonReport, markdownReport, type SuiteReport } from './report.js'

const folder = new URL('./results/', import.meta.url)
const page = new URL('../docs/performance.md', import.meta.url)

/** The results of all scenarios, by name. */
export function readResults(): ReadonlyMap<string, SuiteReport> {
  const names = readdirSync(folder).filter((file) => file.endsWith('.json'))
  const reports = names.map((file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as SuiteReport)
  return new Map(reports.map((report) => [report.name, report]))
}

/** Writes the data of a report, and its page and chart, which are made of the data. */
export async function writeResult(report: SuiteReport): Promise<void> {
  await mkdir(folder, { recursive: true })
  const json = jsonReport(report)
  const written = JSON.parse(json) as SuiteReport
  await writeFile(new URL(`${report.name}.json`, folder), json)
  await writeFile(new URL(`${report.name}.md`, folder), markdownReport(written))
  await writeFile(new URL(`${report.name}.svg`, folder), chart(written))
}

/** Makes the page of all results. */
export async function writePage(): Promise<void> {
  await writeFile(page, performancePage(readResults()))
}
