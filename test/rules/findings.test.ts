import fc from 'fast-check'
import t from 'tap'
import { exceptBy, pageOf } from '../../src/rules/advice.js'
import { type Finding, findingsTable } from '../../src/rules/findings.js'
import { textTable } from '../../src/rules/text-table.js'

const titles = ['route', 'rule', 'what is wrong', 'write instead', 'or except it by', 'see'] as const

const singular: Finding = {
  plugin: 'pathGuard',
  rule: 'plural',
  route: 'GET /v1/user/:id',
  problem: "'user' names a collection in the singular",
  instead: '/v1/users/:id',
  mode: 'enforce',
  effect: 'boot stopped',
}

t.test('the table: a line for each finding, columns under each other', async (t) => {
  const doubled: Finding = {
    ...singular,
    rule: 'slash',
    route: 'GET, HEAD /v1//orders',
    problem: 'has two slashes in a row',
    instead: '/v1/orders',
  }
  t.equal(
    findingsTable([singular, doubled]),
    textTable(
      [...titles],
      [
        [
          'GET /v1/user/:id',
          'pathGuard.plural',
          "'user' names a collection in the singular",
          '/v1/users/:id',
          "config.pathGuard.except: ['plural']",
          'fastify-conventions/docs/path-guard.md',
        ],
        [
          'GET, HEAD /v1//orders',
          'pathGuard.slash',
          'has two slashes in a row',
          '/v1/orders',
          "config.pathGuard.except: ['slash']",
          'fastify-conventions/docs/path-guard.md',
        ],
      ],
    ),
  )
})

t.test('without findings the table has only its header', async (t) => {
  t.equal(findingsTable([]), textTable([...titles], []))
})

t.test('every cell can be read back from its column, and no line ends in spaces', async () => {
  const cell = fc.stringMatching(/^[a-z/:']{1,20}$/)
  const finding = fc.record({
    plugin: cell,
    rule: cell,
    route: cell,
    problem: cell,
    instead: cell,
    mode: fc.constantFrom('enforce' as const, 'report' as const),
    effect: fc.constant('boot stopped' as const),
  })
  fc.assert(
    fc.property(
      fc.uniqueArray(finding, {
        selector: ({ plugin, rule, problem, instead }) => [plugin, rule, problem, instead].join(),
      }),
      (findings) => {
        const [head = '', , ...lines] = findingsTable(findings).split('\n')
        const columns = titles.map((title) => head.indexOf(title))
        const cells = lines.map((line) =>
          columns.map((start, column) => line.slice(start, columns[column + 1]).trimEnd()),
        )
        const expected = findings.map(({ route, plugin, rule, problem, instead }) => [
          route,
          `${plugin}.${rule}`,
          problem,
          instead,
          exceptBy(plugin, rule),
          pageOf(plugin, rule),
        ])
        return (
          JSON.stringify(cells) === JSON.stringify(expected) && lines.every((line) => line === line.trimEnd())
        )
      },
    ),
  )
})
