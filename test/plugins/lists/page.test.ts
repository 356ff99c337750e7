/** Keyset paging: `limit`, `before_id`, `before_time`, `after_id`, `include_total`, and the SQL of a page. */
import fc from 'fast-check'
import t from 'tap'
import { type KeysetOptions, keyset } from '../../../src/plugins/lists/keyset.js'
import {
  cursorFault,
  cursorParameters,
  nextCursor,
  type Page,
  type PageRules,
  readPage,
} from '../../../src/plugins/lists/page.js'
import type { ProblemIssue } from '../../../src/problem/problem-error.js'
import { inRuns } from '../../support/property.js'

const limits = { defaultLimit: 50, maxLimit: 200 }
const rules: PageRules = { ...limits, idFormat: 'int64', by: ['id', 'time'], total: true }
const time = '2026-01-02T03:04:05Z'
const textIds: PageRules = { ...rules, idFormat: 'text' }
const both = { before_time: time, before_id: '7' }

t.test('valid parameters', async (t) => {
  const rows: readonly (readonly [query: Record<string, string>, page: Partial<Page<bigint | string>>])[] = [
    [{}, { limit: 50, fetch: 51, includeTotal: false }],
    [{ limit: '201' }, { limit: 200, fetch: 201 }],
    [{ limit: '9'.repeat(400) }, { limit: 200 }],
    [{ limit: '007' }, { limit: 7 }],
    [{ before_id: '0' }, { beforeId: 0n }],
    [{ after_id: '9223372036854775807' }, { afterId: 9223372036854775807n }],
    [{ before_time: '2026-01-02T03:04:05.123456+01:00' }, { beforeTime: '2026-01-02T02:04:05.123456Z' }],
    // As typed into a URL, where a plus stands for a blank.
    [{ before_time: '2026-01-02T03:04:05 01:00' }, { beforeTime: '2026-01-02T02:04:05Z' }],
    [both, { beforeTime: time, beforeId: 7n }],
    [{ include_total: 'true' }, { includeTotal: true }],
    [{ include_total: 'false' }, { includeTotal: false }],
  ]
  const nothing = { limit: 50, includeTotal: false }
  for (const [query, expected] of rows) {
    const by = 'before_time' in query ? 'time' : 'id'
    const page = { ...nothing, by, ...expected }
    t.strictSame(readPage(query, rules), { ...page, fetch: page.limit + 1 }, JSON.stringify(query))
  }
})

t.test('invalid parameters, and their messages', async (t) => {
  const many = ['5', '6']
  const limits = ['', '0', '000', '-5', '+5', '5.0', '1e2', '0x10', ' 5', '5 ', 'ten', 'NaN', 'Infinity', '٥']
  const ids = ['', '-1', '-0', '007', '7.0', 'x', '9223372036854775808', '1'.repeat(10_000), many, 7, null]
  const days = ['', 'yesterday', '2026-01-02', '2026-01-02T03:04:05', '2026-02-30T00:00:00Z', '1767323045']
  const rows: readonly (readonly [name: string, wrong: readonly unknown[], message: string])[] = [
    ['limit', [...limits, many, 5, {}, null], 'must be a positive integer, once'],
    ['before_id', ids, 'must be an id, once'],
    ['after_id', ['', '-1', 'x', ['7', '7']], 'must be an id, once'],
    ['before_time', [...days, ['a', 'b']], 'must be an RFC 3339 date-time, once'],
    ['include_total', ['', '1', 'yes', 'TRUE', ['true', 'true'], true], 'must be true or false, once'],
  ]
  for (const [name, wrong, message] of rows) {
    for (const value of wrong) {
      const shown = `${name}=${JSON.stringify(value)?.slice(0, 30)}`
      t.strictSame(readPage({ [name]: value }, rules), [{ in: 'query', name, message }], shown)
    }
  }
})

t.test('all errors are returned at once, and a page has cursors of one direction only', async (t) => {
  const wrong = { limit: '-1', before_id: 'x', before_time: 'x', include_total: 'x' }
  t.same(named(readPage(wrong, rules)), Object.keys(wrong))
  const message = 'must not be given together with before_id or before_time'
  const twoWays = [{ in: 'query', name: 'after_id', message }]
  t.strictSame(readPage({ after_id: '1', before_id: '2' }, rules), twoWays)
  t.strictSame(readPage({ after_id: '1', before_time: time }, rules), twoWays)
  t.same(named(readPage({ after_id: 'x', before_id: '2' }, rules)), ['after_id', 'after_id'])
})

t.test('a list refuses the cursors of keys that it does not support', async (t) => {
  const notServed = (name: string) => [{ in: 'query', name, message: 'is not served by this list' }]
  const alone = [{ in: 'query', name: 'before_id', message: 'must be given together with before_time' }]
  const byId: PageRules = { ...rules, by: ['id'] }
  const byTime: PageRules = { ...rules, by: ['time'], total: false }
  for (const [ruled, query, issues] of [
    [byId, { before_time: time }, notServed('before_time')],
    [byId, { before_time: time, before_id: '1' }, notServed('before_time')],
    [byTime, { after_id: '1' }, notServed('after_id')],
    [byTime, { before_id: '1' }, alone],
    [byTime, { include_total: 'true' }, notServed('include_total')],
  ] as const)
    t.strictSame(readPage(query, ruled), issues, JSON.stringify(query))
  t.match(readPage({ before_id: '1' }, byId), { beforeId: 1n, by: 'id' })
  t.match(readPage({ after_id: '1' }, { ...rules, by: ['time', 'id'] }), { afterId: 1n, by: 'id' })
  t.match(readPage({ before_time: time, before_id: '1' }, byTime), { beforeId: 1n, by: 'time' })
})

t.test('a request without a cursor pages by the first key, and so does its next page', async (t) => {
  for (const [by, query, cursor] of [
    [['id', 'time'], {}, { before_id: '7' }],
    [['id', 'time'], { before_time: '2026-02-01T00:00:00Z', before_id: '1' }, both],
    [['time', 'id'], {}, both],
    [['time'], {}, both],
    [['time', 'id'], { before_id: '9' }, { before_id: '7' }],
    [['time', 'id'], { after_id: '9' }, { after_id: '7' }],
  ] as const) {
    const page = readPage(query, { ...rules, by }) as Page
    const asked: string[] = []
    const last = (part: 'id' | 'time') => {
      asked.push(part)
      return part === 'id' ? '7' : time
    }
    t.strictSame(nextCursor(page, last), cursor, JSON.stringify([by, query]))
    t.equal(asked.length, Object.keys(cursor).length, 'no more of the row is read')
  }
  t.same(cursorParameters, ['before_id', 'before_time', 'after_id'])
})

t.test('ids may be text', async (t) => {
  for (const id of ['a', '007', '-1', 'A b', ' ', '~', '\u0080', 'é', '9'.repeat(200)]) {
    t.match(readPage({ before_id: id }, textIds), { beforeId: id }, id.slice(0, 30))
  }
  // Control characters: a database may refuse them.
  for (const id of ['', 'x'.repeat(201), ['a', 'b'], '\0', 'a\nb', 'a\u001f', '\u007fa'])
    t.same(named(readPage({ after_id: id }, textIds)), ['after_id'])
})

t.test('a row has an invalid cursor if and only if the next request would be refused', async () => {
  const text = fc.oneof(
    fc.string({ maxLength: 210 }),
    fc.stringMatching(/^-?\d{0,21}$/),
    fc.constantFrom('', 'x'.repeat(200), 'x'.repeat(201), '2026-01-01T00:00:00.1Z', '2026-01-01 00:00:00+00'),
  )
  inRuns(300, text, fc.constantFrom(rules, textIds), (value, ruled) => {
    const isRead = (name: string): boolean => !isRefused(readPage({ [name]: value }, ruled))
    return (
      isRead('before_id') === (cursorFault('id', value, ruled) === null) &&
      isRead('after_id') === isRead('before_id') &&
      isRead('before_time') === (cursorFault('time', value, ruled) === null)
    )
  })
})

const pageOf = (query: Record<string, string>, by = rules) => readPage(query, by) as Page

t.test('keyset: where, order and values of each cursor', async (t) => {
  const byBoth = '(created_at, id) < ($1, $2)'
  const table: readonly (readonly [Record<string, string>, where: string, order: string, unknown[]])[] = [
    [{}, '1 = 1', 'id desc', []],
    [{ before_id: '7' }, 'id < $1', 'id desc', [7n]],
    [{ after_id: '7' }, 'id > $1', 'id asc', [7n]],
    [{ before_time: time }, 'created_at < $1', 'created_at desc, id desc', [time]],
    [both, byBoth, 'created_at desc, id desc', [time, 7n]],
  ]
  for (const [query, where, orderBy, values] of table)
    t.strictSame(keyset(pageOf(query)), { where, orderBy, values }, JSON.stringify(query))
  const byTime = keyset(pageOf({}, { ...rules, by: ['time'] }))
  t.strictSame(byTime, { where: '1 = 1', orderBy: 'created_at desc, id desc', values: [] })
})

t.test('keyset: columns and placeholders are options', async (t) => {
  const page = pageOf(both)
  const options = { id: 'o."orderId"', time: 'o.placed_at', first: 3 }
  t.match(keyset(page, options), {
    where: '(o.placed_at, o."orderId") < ($3, $4)',
    orderBy: 'o.placed_at desc, o."orderId" desc',
  })
  t.match(keyset(page, { placeholder: () => '?' }), { where: '(created_at, id) < (?, ?)' })
})

t.test('keyset: a template tag gets the texts and the values, and makes the fragments', async (t) => {
  const sql = (strings: TemplateStringsArray, ...values: unknown[]) => ({ strings, raw: strings.raw, values })
  const of = (query: Record<string, string>) => keyset(pageOf(query), { id: 'o.id', sql })
  const texts = ['(created_at, o.id) < (', ', ', ')']
  t.match(of(both), {
    where: { strings: texts, raw: texts, values: [time, 7n] },
    orderBy: { strings: ['created_at desc, o.id desc'], values: [] },
  })
  t.match(of({ after_id: '7' }), { where: { strings: ['o.id > ', ''], values: [7n] } })
  t.match(of({}), { where: { strings: ['1 = 1'], values: [] } })
})

t.test('keyset: the SQL text never has input of the client', async (t) => {
  const text = "' or 1=1 --"
  const { where, values } = keyset(pageOf({ before_id: text }, { ...rules, idFormat: 'text' }))
  t.strictSame([where, values], ['id < $1', [text]])
})

t.test('keyset: a column is a name, quoted or not, with the name of its table or without', async (t) => {
  for (const id of ['id', 'o.id', 's.o.id', '"order id"', '"s"."o"."id"', '`id`', '`o o`.`i d`', 'o.`id`'])
    t.equal(keyset(pageOf({ before_id: '7' }), { id }).where, `${id} < $1`, id)
})

t.test('keyset: invalid options are refused', async (t) => {
  const columns = ['', 'id; drop table users', 'id desc', '"a"b"', '`a`b`', 'a.', '.a', 'a..b', '"', '""']
  columns.push('``', '"a\0"', '`a\0`', 'id)', '(id', 'a."b" desc')
  const others = [{ first: 0 }, { first: 1.5 }, { placeholder: '?' }, { sql: 'kysely' }]
  const invalid = [...columns.flatMap((name) => [{ id: name }, { time: name }]), ...others]
  for (const options of invalid) {
    const message = new RegExp(`^keyset\\.${Object.keys(options)[0]}: `)
    const refused = { code: 'FST_CONV_OPTION_INVALID', message }
    t.throws(() => keyset(pageOf({}), options as KeysetOptions), refused, JSON.stringify(options))
  }
})

function isRefused(page: Page<bigint | string> | ProblemIssue[]): page is ProblemIssue[] {
  return Array.isArray(page)
}

function named(page: Page<bigint | string> | ProblemIssue[]): string[] {
  return isRefused(page) ? page.map((issue) => ('name' in issue ? issue.name : issue.pointer)) : []
}
