import { readdir, readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import { conventionNames } from '../../src/convention/order.js'
import { type ConventionsReport, formatReport, pathGuard, type ReportFormat } from '../../src/index.js'
import { pageOf, textTable } from '../../src/report/format-report.js'
import { exceptsRules } from '../../src/report/proposal.js'
import { appOf } from '../support/app.js'

const finding = {
  plugin: 'pathGuard',
  rule: 'plural',
  route: 'GET /v1/user',
  problem: "'user' names a collection in the singular",
  instead: '/v1/users',
  mode: 'report',
  effect: 'boot stopped',
} as const

const observation = {
  plugin: 'securityHeaders',
  rule: 'missing',
  route: 'GET /v1/user',
  effect: 'header added',
  count: 2,
  example: 'without Referrer-Policy',
  requestId: 'req-1',
} as const

const exception = {
  plugin: 'pathGuard',
  route: 'GET /metrics',
  rules: ['version'],
  reason: 'monitoring',
  declared: true,
} as const

const empty: ConventionsReport = { routes: [], findings: [], exceptions: [], observations: [] }

const report: ConventionsReport = {
  routes: ['GET /v1/user', 'GET /v1/orders', 'GET /metrics'],
  findings: [{ ...finding, rule: 'owners', route: '*', effect: 'none' }, finding],
  exceptions: [exception],
  observations: [
    observation,
    { ...observation, plugin: 'problems', rule: 'body', effect: 'changed', count: 1, example: 'a | b' },
    { ...observation, plugin: 'bearer', rule: 'token', effect: 'refused', status: 401, example: 'expired' },
  ],
}

t.test('table: what breaks the boot or a response is above what adds a header', async (t) => {
  t.equal(
    formatReport(report),
    [
      '2 findings, 3 observations, 1 exception',
      '',
      'route         rule                     under enforce     what is wrong                 write instead',
      '------------  -----------------------  ----------------  ----------------------------  -------------',
      "GET /v1/user  pathGuard.plural         boot stopped      'user' names a collection in  /v1/users",
      '                                                           the singular',
      '              bearer.token             refused with 401  expired (2 requests)',
      '              problems.body            changed           a | b (1 request)',
      '              securityHeaders.missing  header added      without Referrer-Policy (2',
      '                                                           requests)',
      "*             pathGuard.owners         none              'user' names a collection in  /v1/users",
      '                                                           the singular',
      '',
      'rule                     except a route by                    see, in fastify-conventions',
      '-----------------------  -----------------------------------  ---------------------------',
      "pathGuard.plural         config.pathGuard.except: ['plural']  docs/path-guard.md",
      'bearer.token             config.bearer: false                 docs/bearer.md',
      'problems.body            config.problems: false               docs/problems.md',
      'securityHeaders.missing  config.securityHeaders: false        docs/security-headers.md',
      'pathGuard.owners                                              docs/path-guard.md',
      '',
      'exception for  rules              reason',
      '-------------  -----------------  ----------',
      'GET /metrics   pathGuard.version  monitoring',
      '',
      'To boot today, paste into the options of the preset, and write the reasons:',
      '',
      '  pathGuard: {',
      '    exceptions: [',
      "      { url: '/v1/user', except: ['plural'], reason: 'older than the conventions' },",
      '    ],',
      '  },',
      '',
      'Under enforce, of 3 routes: break clients 1, change bytes 0, fine 2',
    ].join('\n'),
  )
})

t.test('a route counts once, by the worst that enforce does about it', async (t) => {
  const numbers = (...observations: ConventionsReport['observations']) =>
    /.*$/.exec(formatReport({ ...report, findings: [], observations }))?.[0]
  const orders = { ...observation, route: 'GET /v1/orders' }
  const changed = { ...orders, effect: 'changed' } as const
  const refused = { ...orders, effect: 'refused', status: 404 } as const
  const of = (text: string) => `Under enforce, of 3 routes: ${text}`
  t.equal(numbers(), of('break clients 0, change bytes 0, fine 3'))
  t.equal(numbers(observation, orders, changed), of('break clients 0, change bytes 2, fine 1'))
  t.equal(numbers(observation, changed, refused), of('break clients 1, change bytes 1, fine 1'))
  const unknown = { ...refused, route: '*' }
  t.equal(numbers({ ...orders, effect: 'none' }, unknown), of('break clients 0, change bytes 0, fine 3'))
})

t.test('routes that are excepted from the same rules for one reason are one row', async (t) => {
  const reason = 'a page'
  const rules = ['plural', 'version', 'words', 'slash']
  const exceptions = ['/a', '/b', '/c', '/d'].flatMap((route) => [
    { ...exception, route, rules, reason },
    { ...exception, route, plugin: 'caching', rules: ['etag'], reason },
  ])
  const all = { ...exception, plugin: 'conventions', rules: ['cors', ...rules] }
  t.equal(
    formatReport({ ...empty, exceptions: [...exceptions, exception, all] }),
    [
      '0 findings, 0 observations, 10 exceptions',
      '',
      'exception for          rules                              reason',
      '---------------------  ---------------------------------  ----------',
      '/a, /b, /c and 1 more  pathGuard (4 rules), caching.etag  a page',
      'GET /metrics           pathGuard.version, 5 conventions   monitoring',
    ].join('\n'),
  )
})

t.test('routes that no rule applies to for what they are: a number in one line, not rows', async (t) => {
  const wildcard = 'a wildcard route: files or a proxy'
  const excluded = { ...exception, declared: false, reason: wildcard }
  const exceptions = [
    excluded,
    { ...excluded, plugin: 'caching' },
    { ...excluded, route: 'GET /files/*' },
    { ...excluded, reason: 'no response schema' },
  ]
  t.equal(
    formatReport({ ...empty, exceptions }),
    '0 findings, 0 observations, 0 exceptions\n\n' +
      `Checked in part or not at all: 2 routes (${wildcard}), 1 route (no response schema).`,
  )
  t.equal(formatReport({ ...empty, exceptions }, 'github'), '')
  t.equal(formatReport(empty), '0 findings, 0 observations, 0 exceptions')
  const message = "format: expected one of 'table', 'json', 'github', received 'yaml'"
  t.throws(() => formatReport(empty, 'yaml' as ReportFormat), { code: 'FST_CONV_OPTION_INVALID', message })
})

t.test('github: an annotation for each row, whose level is that of the effect', async (t) => {
  t.strictSame(formatReport(report, 'github').split('\n'), [
    "::error title=pathGuard.plural::GET /v1/user: 'user' names a collection in the singular (under enforce: boot stopped); write instead: /v1/users; or except it by config.pathGuard.except: ['plural']; see fastify-conventions/docs/path-guard.md",
    '::warning title=bearer.token::GET /v1/user: expired (2 requests) (under enforce: refused with 401); or except it by config.bearer: false; see fastify-conventions/docs/bearer.md',
    '::warning title=problems.body::GET /v1/user: a | b (1 request) (under enforce: changed); or except it by config.problems: false; see fastify-conventions/docs/problems.md',
    '::notice title=securityHeaders.missing::GET /v1/user: without Referrer-Policy (2 requests) (under enforce: header added); or except it by config.securityHeaders: false; see fastify-conventions/docs/security-headers.md',
    "::notice title=pathGuard.owners::*: 'user' names a collection in the singular (under enforce: none); write instead: /v1/users; see fastify-conventions/docs/path-guard.md",
  ])
})

t.test('what excepts a route from a rule, and the page of the rule', async (t) => {
  for (const [plugin, rule, shown] of [
    ['caching', 'registration', '; or except it by earlierRoutes of caching; see /caching'],
    ['selfAlias', 'decorators', '; or except it by selfAlias: false; see /decorators'],
    ['conventions', 'config', '/v1/users; see /report'],
    ['methodOverride', 'performed', '; or except it by methodOverride: false; see /method-override'],
  ] as const) {
    const text = formatReport({ ...empty, findings: [{ ...finding, plugin, rule }] }, 'github')
    t.ok(text.endsWith(`${shown.replace('see ', 'see fastify-conventions/docs')}.md`), text)
  }
})

t.test('a text of a client cannot end a line, a cell or an annotation', async (t) => {
  const example = '\n::error::50% off\u001b[2J | x\u202e'
  const hostile = { ...empty, observations: [{ ...observation, example }] }
  for (const [format, shown, lines] of [
    ['table', String.raw`\u{a}::error::50% off\u{1b}[2J | x\u{202e} (2 requests)`, 10],
    ['github', String.raw`\u{a}::error::50%25 off\u{1b}[2J | x\u{202e} (2 requests)`, 1],
  ] as const) {
    const text = formatReport(hostile, format)
    // A cell of the table goes on in the next line.
    t.ok(text.replace(/\n +/g, ' ').includes(shown), `${format}: ${text}`)
    t.equal(text.split('\n').length, lines, format)
  }
})

t.test('routes with one cause are one row; json has them all', async (t) => {
  const findings = ['e', 'b', 'a', 'c'].map((name) => ({ ...finding, route: `GET /v1/${name}` }))
  const many = { ...empty, findings: [...findings, { ...finding, route: 'GET /v1/d', instead: '/v1/ds' }] }
  const shown = ['::GET /v1/a, GET /v1/b, GET /v1/c and 1 more: ', '::GET /v1/d: ']
  t.match(formatReport(many, 'github').split('\n'), shown)
  const three = formatReport({ ...empty, findings: findings.slice(0, 3) }, 'github')
  t.match(three, /^[^\n]*::GET \/v1\/a, GET \/v1\/b, GET \/v1\/e:[^\n]*$/)
  for (const one of [many, report]) t.strictSame(JSON.parse(formatReport(one, 'json')), one)
})

t.test('every convention has a page, and those with rules are known', async (t) => {
  const folders = await readdir(new URL('../../src/plugins', import.meta.url))
  t.equal(conventionNames.size, folders.length)
  for (const folder of folders) {
    const plugin = folder.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    const page = pageOf(plugin).replace('fastify-conventions/', '../../')
    await t.resolves(readFile(new URL(page, import.meta.url)), page)
    t.ok(conventionNames.has(plugin), plugin)
    const inFolder = new URL(`../../src/plugins/${folder}/`, import.meta.url)
    const files = (await readdir(inFolder)).filter((file) => file.endsWith('.ts'))
    const sources = await Promise.all(files.map((file) => readFile(new URL(file, inFolder), 'utf8')))
    t.equal(exceptsRules.has(plugin), /routeRuleOptions\(/.test(sources.join('\n')), plugin)
  }
})

t.test('docs/report.md: the table is that of such an app', async (t) => {
  const app = await appOf([pathGuard, { mode: 'report' }])
  app.get('/v1/user', async () => ({}))
  for (let times = 0; times < 3; times++) await app.inject('/v1/us%65r')
  const page = await readFile(new URL('../../docs/report.md', import.meta.url), 'utf8')
  t.ok(page.includes(`\`\`\`text\n${formatReport(app.conventions.report())}\n\`\`\``))
})

t.test('a cell that is too wide goes on in the next line, indented', async (t) => {
  const reason = 'a text of several words that is too wide for the table'
  t.equal(
    textTable(['a', 'b'], [['GET /v1/users, GET /v1/orders, GET /v1/invoices and 7 more', reason]]),
    [
      'a                                                  b',
      '-------------------------------------------------  -------------------------------------------------',
      'GET /v1/users, GET /v1/orders, GET /v1/invoices    a text of several words that is too wide for the',
      '  and 7 more                                         table',
    ].join('\n'),
  )
})

t.test('a column is as wide as its longest word while another one can be narrowed', async (t) => {
  const word = 'x'.repeat(60)
  const table = textTable(['a', 'b'], [[`${word} y`, 'words '.repeat(14).trim()]])
  t.match(table, new RegExp(`^${word}  words (words )+words$`, 'm'))
})

t.test('no line is wider than 100 characters or ends in spaces, and no character is lost', async () => {
  const cell = fc
    .array(fc.stringMatching(/^[a-z/:']{1,70}$/), { minLength: 1, maxLength: 9 })
    .map((words) => words.join(' '))
  const rows = fc.array(fc.tuple(cell, cell, cell, cell, cell), { minLength: 1, maxLength: 4 })
  const letters = (text: string): string => [...text.replace(/[\s-]/g, '')].sort().join('')
  fc.assert(
    fc.property(rows, (given) => {
      const header = ['one', 'two', 'three', 'four', 'five']
      const table = textTable(header, given)
      return (
        table.split('\n').every((line) => line.length <= 100 && line === line.trimEnd()) &&
        letters(table) === letters([header, ...given].flat().join(''))
      )
    }),
  )
})
