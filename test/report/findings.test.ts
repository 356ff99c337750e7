import fc from 'fast-check'
import t from 'tap'
import type { Finding } from '../../src/report/findings.js'
import { findingsTable, textTable } from '../../src/report/format-report.js'

const singular: Finding = {
  plugin: 'pathGuard',
  rule: 'plural',
  route: 'GET /v1/user/:id',
  problem: "'user' names a collection in the singular",
  instead: '/v1/users/:id',
  mode: 'enforce',
  effect: 'boot stopped',
}

t.test('a row for each route with all its rules; how to except a route from each rule, once', async (t) => {
  const doubled: Finding = { ...singular, rule: 'slash', problem: 'has two slashes in a row' }
  const other: Finding = {
    ...singular,
    route: 'GET, HEAD /v1/order',
    problem: "'order' is one",
    instead: '/v1/orders',
  }
  t.equal(
    findingsTable([singular, other, doubled]),
    [
      'route                rule              what is wrong                              write instead',
      '-------------------  ----------------  -----------------------------------------  -------------',
      "GET /v1/user/:id     pathGuard.plural  'user' names a collection in the singular  /v1/users/:id",
      '                     pathGuard.slash   has two slashes in a row',
      "GET, HEAD /v1/order  pathGuard.plural  'order' is one                             /v1/orders",
      '',
      'rule              except a route by                    see, in fastify-conventions',
      '----------------  -----------------------------------  ---------------------------',
      "pathGuard.plural  config.pathGuard.except: ['plural']  docs/path-guard.md",
      "pathGuard.slash   config.pathGuard.except: ['slash']   docs/path-guard.md",
    ].join('\n'),
  )
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
