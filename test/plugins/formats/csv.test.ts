/** CSV of lists: the columns of a schema, the cells of items. */
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import t from 'tap'
import { type Column, csvListOf, csvOf, type StringifyCsv } from '../../../src/plugins/formats/csv.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { shapeOf } from '../../../src/schema/shape-reader.js'

const write = stringify as StringifyCsv
const text = { type: 'string' }
const number = { type: 'number' }
const int64 = { type: 'integer', format: 'int64' }
const objectOf = (properties: Json, more: object = {}) => ({ type: 'object', properties, ...more })
const arrayOf = (items: Json) => ({ type: 'array', items })
const orNull = (schema: Json) => ({ anyOf: [schema, { type: 'null' }] })

function headersOf(item: Json): readonly string[] | string {
  const list = csvListOf(shapeOf(arrayOf(item)), ['users'])
  return 'columns' in list ? list.columns.map(({ header }) => header) : list.problem
}

t.test('the columns are the fields of an item, and those of nested objects with dots', async (t) => {
  const address = objectOf({ city: text, geo: objectOf({ lat: number, long: number }) })
  const ofAddress = ['address.city', 'address.geo.lat', 'address.geo.long']
  const rows: readonly (readonly [item: Json, headers: readonly string[]])[] = [
    [objectOf({ id: int64, name: text }), ['id', 'id_str', 'name']],
    [objectOf({ address, tags: arrayOf(text) }), [...ofAddress, 'tags']],
    [objectOf({ address: orNull(address) }), ofAddress],
    [objectOf({ either: { anyOf: [address, text] } }), ['either']],
    [objectOf({ map: objectOf({ known: text }, { additionalProperties: text }) }), ['map']],
    [objectOf({ empty: objectOf({}) }), ['empty']],
    [objectOf({ 'a.b': text, 'c,d': text }), ['a.b', 'c,d']],
    [objectOf({ a: objectOf({ b: objectOf({ c: objectOf({ d: objectOf({ e: text }) }) }) }) }), ['a.b.c.d']],
    [objectOf({ ids: arrayOf(int64) }), ['ids', 'ids_str']],
    // An item within an item of its own kind is JSON in one cell.
    [objectOf({ id: number, parent: { $ref: '#/items' } }), ['id', 'parent']],
  ]
  for (const [item, headers] of rows) t.strictSame(headersOf(item), headers)
})

t.test('items whose fields are not all known have no CSV', async (t) => {
  const open = [{ additionalProperties: text }, { patternProperties: { '^x': text } }, { required: ['b'] }]
  for (const item of [text, {}, ...open.map((more) => objectOf({ a: text }, more))])
    t.match(headersOf(item), /does not name all of them/)
  const wide = (length: number) =>
    objectOf(Object.fromEntries(Array.from({ length }, (_, index) => [`c${index}`, text])))
  t.match(headersOf(wide(1001)), /more than 1000 columns/)
  t.equal(headersOf(wide(1000)).length, 1000)
})

t.test('the list is the array with the name, else the only one', async (t) => {
  const items = arrayOf(objectOf({ id: number }))
  const rows: readonly (readonly [answer: Json, member: string | null | RegExp])[] = [
    [items, null],
    [objectOf({ users: items, tags: arrayOf(text) }), 'users'],
    [objectOf({ people: items, total: number }), 'people'],
    [objectOf({ people: orNull(items) }), 'people'],
    [objectOf({ people: { anyOf: [items, arrayOf(text)] } }), /no array of items/],
    [objectOf({ people: items, tags: arrayOf(text) }), /no array of items/],
    [objectOf({ id: number }), /no array of items/],
  ]
  for (const [answer, expected] of rows) {
    const list = csvListOf(shapeOf(answer), ['users'])
    if (expected instanceof RegExp) t.match('problem' in list ? list.problem : 'columns', expected)
    else t.equal('member' in list ? list.member : list.problem, expected)
  }
  t.match(csvListOf(undefined, []), { problem: /needs a response schema/ })
})

function columnsOf(...headers: readonly string[]): Column[] {
  return headers.map((header) => ({ header, path: header.split('.'), isTwin: false }))
}

function csv(json: string, columns: readonly Column[], formulas: 'escape' | 'keep' = 'escape') {
  return csvOf(json, { member: null, columns }, formulas, write)
}

t.test('a header row, CRLF, quotes as RFC 4180 has them, and all digits of an integer', async (t) => {
  const digits = '18446744073709551615'
  const columns = columnsOf('a', 'b')
  const rows: readonly (readonly [json: string, csv: string])[] = [
    ['[]', 'a,b\r\n'],
    ['[{"a":1,"b":"x"},{"b":"y"}]', 'a,b\r\n1,x\r\n,y\r\n'],
    ['[{"a":"x,y","b":"say \\"hi\\""}]', 'a,b\r\n"x,y","say ""hi"""\r\n'],
    ['[{"a":"x\\r\\ny","b":"x\\ny"}]', 'a,b\r\n"x\r\ny","x\ny"\r\n'],
    ['[{"a":null,"b":""}]', 'a,b\r\n,""\r\n'],
    ['[{"a":true,"b":false}]', 'a,b\r\ntrue,false\r\n'],
    ['[{"a":[1,"x",null],"b":{"c":1.5}}]', 'a,b\r\n"[1,""x"",null]","{""c"":1.5}"\r\n'],
    ['[1,null,"x",[2]]', 'a,b\r\n,\r\n,\r\n,\r\n,\r\n'],
    [`[{"a":${digits},"b":{"c":[${digits}]}}]`, `a,b\r\n${digits},"{""c"":[${digits}]}"\r\n`],
  ]
  for (const [json, expected] of rows) t.equal(csv(json, columns), expected, json)
  const one = csv('[{"a":{"b":1}},{"a":null},{"a":"x"}]', columnsOf('a.b'))
  t.equal(one, 'a.b\r\n1\r\n""\r\n""\r\n', 'one column')
  const inherited = csv('[{"toString":1}]', columnsOf('__proto__', 'toString', 'valueOf'))
  t.equal(inherited, '__proto__,toString,valueOf\r\n,1,\r\n')
})

t.test('a text that a spreadsheet would take for a formula gets an apostrophe', async (t) => {
  const formulas = ['=1+1', '@sum', '+cmd', '-cmd', '\tx', '＝1', '-1+1']
  for (const given of [...formulas, '-5', '-1.5e+10', '+4917012345', 'a=b']) {
    const escaped = formulas.includes(given) ? `'${given}` : given
    const json = JSON.stringify([{ a: given, b: 1 }])
    t.equal(csv(json, columnsOf('a', 'b')), `a,b\r\n${escaped},1\r\n`, given)
    t.equal(csv(json, columnsOf('a', 'b'), 'keep'), `a,b\r\n${given},1\r\n`, `${given}, kept`)
  }
})

t.test('JSON without the list has no CSV', async (t) => {
  const read = (json: string): string | null =>
    csvOf(json, { member: 'users', columns: columnsOf('a') }, 'escape', write)
  for (const json of ['[]', '{}', '{"users":{}}', 'null', '1']) t.equal(read(json), null, json)
  t.equal(read('{"users":[{"a":1}]}'), 'a\r\n1\r\n')
})

/** Reads CSV as RFC 4180 describes it. */
function parsed(file: string): string[][] {
  const rows: string[][] = [[]]
  const field = /(?:"((?:[^"]|"")*)"|([^,\r\n"]*))(,|\r\n)/y
  for (let match = field.exec(file); match !== null && match[0] !== ''; match = field.exec(file)) {
    rows.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

t.test('any texts come back from the file', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string(), fc.string())), (items) => {
      const json = JSON.stringify(items.map(([a, b, c]) => ({ a, b, c })))
      const file = csv(json, columnsOf('a', 'b', 'c'), 'keep') ?? ''
      return JSON.stringify(parsed(file)) === JSON.stringify([['a', 'b', 'c'], ...items])
    }),
  )
})
