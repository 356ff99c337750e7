import t from 'tap'
import { type KeysetOptions, keyset } from '../../../src/plugins/lists/keyset.js'
import { type Page, type PageRules, readPage } from '../../../src/plugins/lists/page.js'

const rules: PageRules = { defaultLimit: 2, maxLimit: 9, idFormat: 'int64', by: ['id', 'time'], total: true }
const time = '2026-01-01T00:00:00Z'

t.test('where, order and values of each cursor', async (t) => {
  const both = { before_time: time, before_id: '7' }
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

t.test('columns and placeholders are options', async (t) => {
  const page = pageOf({ before_time: time, before_id: '7' })
  const options = { id: 'o."orderId"', time: 'o.placed_at', first: 3 }
  t.match(keyset(page, options), {
    where: '(o.placed_at, o."orderId") < ($3, $4)',
    orderBy: 'o.placed_at desc, o."orderId" desc',
  })
  t.match(keyset(page, { placeholder: () => '?' }), { where: '(created_at, id) < (?, ?)' })
})

t.test('a template tag gets the texts and the values, and makes the fragments', async (t) => {
  const sql = (strings: TemplateStringsArray, ...values: unknown[]) => ({ strings, raw: strings.raw, values })
  const of = (query: Record<string, string>) => keyset(pageOf(query), { id: 'o.id', sql })
  const texts = ['(created_at, o.id) < (', ', ', ')']
  t.match(of({ before_time: time, before_id: '7' }), {
    where: { strings: texts, raw: texts, values: [time, 7n] },
    orderBy: { strings: ['created_at desc, o.id desc'], values: [] },
  })
  t.match(of({ after_id: '7' }), { where: { strings: ['o.id > ', ''], values: [7n] } })
  t.match(of({}), { where: { strings: ['1 = 1'], values: [] } })
})

t.test('the SQL text never has input of the client', async (t) => {
  const text = "' or 1=1 --"
  const { where, values } = keyset(pageOf({ before_id: text }, { ...rules, idFormat: 'text' }))
  t.strictSame([where, values], ['id < $1', [text]])
})

t.test('a column is a name, quoted or not, with the name of its table or without', async (t) => {
  for (const id of ['id', 'o.id', 's.o.id', '"order id"', '"s"."o"."id"', '`id`', '`o o`.`i d`', 'o.`id`'])
    t.equal(keyset(pageOf({ before_id: '7' }), { id }).where, `${id} < $1`, id)
})

t.test('invalid options are refused', async (t) => {
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

function pageOf(query: Record<string, string>, by = rules): Page {
  return readPage(query, by) as Page
}
