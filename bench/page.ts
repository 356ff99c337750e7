import { isKept, markdownRow, type ReportRow, type SuiteReport, verdict } from './report.js'

/** A part of the page: scenarios in their order, and a line about them. */
interface Section {
  readonly title: string
  readonly text?: string
  readonly scenarios: readonly string[]
}

/** The sections of the page; each scenario is in one of them. */
export const sections: readonly Section[] = [
  { title: 'Each plugin, and all of them', scenarios: ['plugins'] },
  {
    title: 'Responses, compared with the peers',
    scenarios: ['item', 'list', 'close-to-an-app', 'front-door', 'conditional', 'fields'],
  },
  {
    title: 'Single conventions',
    scenarios: [
      'problems-error',
      'bearer',
      'xsrf',
      'idempotency',
      'maintenance',
      'method-override',
      'versions',
      'self-alias',
      'formats',
    ],
  },
  { title: 'Operations', scenarios: ['operations', 'operations-records', 'operations-start'] },
  {
    title: 'Exact integers',
    scenarios: ['twins', 'twins-list', 'parse', 'parse-wired'],
  },
  {
    title: 'Boot and import',
    scenarios: ['boot-10', 'boot-100', 'boot-1000', 'import', 'swagger', 'heap'],
  },
  {
    title: 'Long inputs',
    text: 'Work must be linear in the length of what a client sends: 1.00 is linear growth, 2.00 quadratic.',
    scenarios: ['growth', 'path-check'],
  },
  {
    title: 'Memory and a long run',
    text: 'What is kept by caller, key or path is bounded. The soak runs two servers and two workers on Redis and PostgreSQL, kills and freezes them in turn, and counts what is lost.',
    scenarios: ['memory', 'soak'],
  },
]

/** Where the figures of a plugin are, as `scenario/variant` or `scenario/variant/the variant that is 1`. */
interface PluginCost {
  readonly plugin: string
  /** A request that it works on, if a plain one is none, and what that is. */
  readonly used?: readonly [figure: string, what: string]
  /** What else a user would take for that, and its name. */
  readonly peer?: readonly [figure: string, name: string]
}

const costs: readonly PluginCost[] = [
  {
    plugin: 'problems',
    used: ['problems-error/problems404', 'a 404'],
    peer: ['problems-error/bare404', 'Fastify'],
  },
  {
    plugin: 'cors',
    used: ['front-door/corsPage', 'a request of a page'],
    peer: ['front-door/fastifyCorsPage', '@fastify/cors'],
  },
  {
    plugin: 'securityHeaders',
    used: ['front-door/securityHeaders', 'any request'],
    peer: ['front-door/helmet', '@fastify/helmet'],
  },
  { plugin: 'httpsOnly', used: ['xsrf/httpsOnly', 'a `POST` behind a proxy'] },
  { plugin: 'maintenance', used: ['maintenance/on', 'a 503 during maintenance'] },
  {
    plugin: 'rateLimit',
    used: ['front-door/rateLimit', 'any request'],
    peer: ['front-door/fastifyRateLimit', '@fastify/rate-limit'],
  },
  { plugin: 'pathGuard' },
  { plugin: 'methodOverride' },
  {
    plugin: 'versions',
    used: ['versions/deprecated', 'a deprecated version'],
    peer: ['versions/byHand', 'a hook by hand'],
  },
  {
    plugin: 'bearer',
    used: ['bearer/bearer/bare', 'a token that is sent again'],
    peer: ['bearer/joseHook/bare', 'jose in a hook'],
  },
  {
    plugin: 'xsrf',
    used: ['xsrf/xsrf', 'a `POST` by a cookie'],
    peer: ['xsrf/csrfProtection', '@fastify/csrf-protection'],
  },
  {
    plugin: 'selfAlias',
    used: ['self-alias/me', '`/v1/users/me`'],
    peer: ['self-alias/byHand', 'a hook by hand'],
  },
  { plugin: 'lists', used: ['list/paged', 'a page of fifty items, with all conventions'] },
  { plugin: 'responseRules' },
  {
    plugin: 'fields',
    used: ['fields/fields', 'two fields of ten, of fifty items'],
    peer: ['fields/jsonMask', 'json-mask'],
  },
  {
    plugin: 'integerTwins',
    used: ['twins/ours', 'writing 100 ids beyond 2^53'],
    peer: ['twins/jsonBigint', 'json-bigint'],
  },
  { plugin: 'idempotency', used: ['idempotency/withKey/bareWithKey', 'a `POST` with a new key'] },
  {
    plugin: 'caching',
    used: ['conditional/caching', 'a tag of the bytes of a list'],
    peer: ['conditional/etag', '@fastify/etag'],
  },
  { plugin: 'operations', used: ['operations/alone', 'a poll'] },
  {
    plugin: 'formats',
    used: ['formats/csv', 'fifty items as CSV'],
    peer: ['formats/csvByHand', 'csv-stringify in the handler'],
  },
]

type Results = ReadonlyMap<string, SuiteReport>

/** Makes `docs/performance.md` of the results. */
export function performancePage(results: Results): string {
  return `${[
    '# Performance: what the conventions cost',
    '',
    '<!-- Made by `npm run bench`, of bench/results. Do not edit. -->',
    '',
    'All figures are ratios to bare Fastify, unless another baseline is named: 2.00 is twice the cost. A handler of the',
    'benchmark does nothing, so the ratios are the worst case: to a handler that works for 1 ms, the whole preset adds',
    `${shareOfHandler(results)}.`,
    '',
    '## What each plugin costs',
    '',
    'The first figure is a `GET` of one item of 400 bytes with that plugin alone. The second is a request that uses it, and',
    'the third the same request with what you would take instead. The dearer one is **bold** if they differ by more than 5 %.',
    'The servers with conventions keep [ticks of Node.js](#ticks-of-nodejs) fast; bare Fastify that does so is at',
    `${shown(ratioAt('item/bareFastTicks', results))}, the preset that does not at ${shown(ratioAt('item/presetSlowTicks', results))}.`,
    '',
    ...table(
      ['plugin', 'plain `GET`', 'a request that uses it', '', 'instead', ''],
      [...costs.map((cost) => costRow(cost, results)), totalRow(results)],
    ),
    '',
    ...aboveBounds(results),
    '## How it is measured',
    '',
    'Each variant is a server process on the loopback with 20 connections. The figure is its CPU time per request, unless the',
    'scenario says otherwise: the mean of the cheapest third of the rounds. Differences below 5 % are noise. "Figures" has',
    'the date, the versions and the absolute figures; more is in the [README of the benchmark](../bench/README.md).',
    '',
    '## Ticks of Node.js',
    '',
    'Once an idle process has collected garbage, `process.nextTick()` is slower for good on Node.js 20 to 24. The preset and',
    '`serverOptions()` keep one of its objects alive, which prevents that; `fastTicks: false` leaves it. In ns per tick',
    '(`node bench/next-tick.mjs`, and with `kept`):',
    '',
    ...table(
      ['Node.js', 'at first', 'after collections', 'with the object'],
      [
        ['20.20', '46', '215', '46'],
        ['22.23', '52', '290', '50'],
        ['24.21', '46', '278', '54'],
        ['26.12', '46', '47', '50'],
      ],
    ),
    '',
    ...sections.flatMap((section) => sectionOf(section, results)),
  ]
    .join('\n')
    .trimEnd()}\n`
}

function sectionOf({ title, text, scenarios }: Section, results: Results): string[] {
  return [
    `## ${title}`,
    '',
    ...(text === undefined ? [] : [text, '']),
    ...scenarios.flatMap((name) => {
      const report = results.get(name)
      return report === undefined ? [`### ${name}`, '', 'Not measured yet.', ''] : scenarioOf(report)
    }),
  ]
}

/** Facts that are results; all others are in the page of the scenario. */
const resultFacts = ['Faults', 'Requests', 'Failures']

function scenarioOf({ name, title, baseline, unit, facts }: SuiteReport): string[] {
  const about = [`${title.charAt(0).toUpperCase()}${title.slice(1)}`]
  if (unit !== 'CPU µs per request') about.push(unit)
  if (baseline !== 'bare') about.push(`ratio to \`${baseline}\``)
  const shownFacts = resultFacts.filter((fact) => fact in facts).map((fact) => `${fact}: ${facts[fact]}`)
  return [
    `### ${name}`,
    '',
    `${about.join('; ')}. [Figures](../bench/results/${name}.md)`,
    '',
    `![${name}](../bench/results/${name}.svg)`,
    '',
    ...(shownFacts.length === 0 ? [] : [shownFacts.join(' · '), '']),
  ]
}

function costRow({ plugin, used, peer }: PluginCost, results: Results): string[] {
  const plain = ratioAt(`plugins/${plugin}`, results)
  const [own, other] = [used, peer].map((named) => (named === undefined ? null : ratioAt(named[0], results)))
  return [
    `\`${plugin}\``,
    shown(plain),
    used?.[1] ?? '',
    emphasized(own, other),
    peer?.[1] ?? '',
    emphasized(other, own),
  ]
}

function totalRow(results: Results): string[] {
  const [own, other] = ['item/preset', 'item/peers'].map((figure) => ratioAt(figure, results))
  return [
    '**the whole preset**',
    emphasized(own, other),
    'the same `GET`',
    emphasized(own, other),
    '@fastify/helmet, cors, rate-limit and etag',
    emphasized(other, own),
  ]
}

/** What does not keep its bound, for the reader who asks where the cost is too high. */
function aboveBounds(results: Results): string[] {
  const above = [...results.values()].flatMap((report) =>
    report.rows.filter(({ bounds }) => !bounds.every(isKept)).map((row) => ({ report, row })),
  )
  if (above.length === 0) return []
  return [
    '## What is above its bound',
    '',
    ...above.map(
      ({ report, row }) =>
        `- [\`${report.name}\`](#${report.name}) \`${row.variant}\` ${row.ratio.value.toFixed(2)} (${verdict(row)})`,
    ),
    '',
  ]
}

function shareOfHandler(results: Results): string {
  const rows = results.get('item')?.rows ?? []
  const costOf = (name: string) => rows.find(({ variant }) => variant === name)?.cost ?? Number.NaN
  const added = costOf('preset') - costOf('bare')
  return `${added.toFixed(0)} µs, or ${(added / 10).toFixed(1)} %`
}

/** Null if the scenario was not measured. */
function ratioAt(figure: string, results: Results): number | null {
  const [scenario = '', variant, baseline] = figure.split('/')
  const report = results.get(scenario)
  if (report === undefined) return null
  return ratioOf(report, variant) / (baseline === undefined ? 1 : ratioOf(report, baseline))
}

function ratioOf({ name, rows }: SuiteReport, variant: string | undefined): number {
  const row: ReportRow | undefined = rows.find((each) => each.variant === variant)
  if (row === undefined) throw new Error(`bench/results/${name}.json has no variant '${variant}'`)
  return row.ratio.value
}

function shown(ratio: number | null | undefined): string {
  return typeof ratio === 'number' ? ratio.toFixed(2) : ''
}

function emphasized(ratio: number | null | undefined, other: number | null | undefined): string {
  const isDearer = typeof ratio === 'number' && typeof other === 'number' && ratio > other * 1.05
  return isDearer ? `**${shown(ratio)}**` : shown(ratio)
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [heads, heads.map(() => '---'), ...rows].map(markdownRow)
}
