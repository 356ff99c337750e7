import fc from 'fast-check'
import t from 'tap'
import { type Finding, findingsTable } from '../../src/rules/findings.js'

const singular: Finding = {
  plugin: 'pathGuard',
  rule: 'plural',
  route: 'GET /v1/user/:id',
  problem: "'user' names a collection in the singular",
  instead: '/v1/users/:id',
  mode: 'enforce',
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
    [
      'route                  rule              what is wrong                              write instead',
      '---------------------  ----------------  -----------------------------------------  -------------',
      "GET /v1/user/:id       pathGuard.plural  'user' names a collection in the singular  /v1/users/:id",
      'GET, HEAD /v1//orders  pathGuard.slash   has two slashes in a row                   /v1/orders',
    ].join('\n'),
  )
})

t.test('without findings the table has only its header', async (t) => {
  t.equal(
    findingsTable([]),
    ['route  rule  what is wrong  write instead', '-----  ----  -------------  -------------'].join('\n'),
  )
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
  })
  fc.assert(
    fc.property(fc.array(finding), (findings) => {
      const [head = '', , ...lines] = findingsTable(findings).split('\n')
      const columns = ['route', 'rule', 'what is wrong', 'write instead'].map((title) => head.indexOf(title))
      const cells = lines.map((line) =>
        columns.map((start, column) => line.slice(start, columns[column + 1]).trimEnd()),
      )
      const expected = findings.map(({ route, plugin, rule, problem, instead }) => [
        route,
        `${plugin}.${rule}`,
        problem,
        instead,
      ])
      return (
        JSON.stringify(cells) === JSON.stringify(expected) && lines.every((line) => line === line.trimEnd())
      )
    }),
  )
})
