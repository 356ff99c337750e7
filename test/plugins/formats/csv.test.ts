/** CSV of lists: the columns of a schema, the cells of items. */
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import t from 'tap'
import { type Column, csvListOf, csvOf, type StringifyCsv } from '../../../src/plugins/formats/csv.js'
import type { Shape } from '../../../src/schema/shape.js'

const write = stringify as StringifyCsv
const text: Shape = { kind: 'text', format: null, nullable: false }
const number: Shape = { kind: 'number', nullable: false }
const int64: Shape = { kind: 'integer', int64: { min: 0n, max: 2n ** 64n - 1n }, nullable: false }
const nothing: Shape = { kind: 'null', nullable: true }

const memberOf = (name: string, shape: Shape) => ({ name, shape, required: false, fallback: null })

function objectOf(members: Readonly<Record<string, Shape>>, rest: Shape | null = null): Shape {
  const named = Object.entries(members).map(([name, shape]) => memberOf(name, shape))
  return { kind: 'object', members: named, alsoRequired: [], patterns: [], rest, nullable: false }
}

function arrayOf(items: Shape): Shape {
  return { kind: 'array', items, isSet: false, nullable: false }
}

function choiceOf(...shapes: readonly Shape[]): Shape {
  const options = shapes.map((shape) => ({ shape, match: () => true }))
  return { kind: 'choice', options, nullable: false } as unknown as Shape
}

function headersOf(item: Shape): readonly string[] | string {
  const list = csvListOf(arrayOf(item), ['users'])
  return 'columns' in list ? list.columns.map(({ header }) => header) : list.problem
}

t.test('the columns are the fields of an item, and those of nested objects with dots', async (t) => {
  const address = objectOf({ city: text, geo: objectOf({ lat: number, long: number }) })
  const ofAddress = ['address.city', 'address.geo.lat', 'address.geo.long']
  const rows: readonly (readonly [Shape, readonly string[]])[] = [
    [objectOf({ id: int64, name: text }), ['id', 'id_str', 'name']],
    [objectOf({ address, tags: arrayOf(text) }), [...ofAddress, 'tags']],
    [objectOf({ address: choiceOf(address, nothing) }), ofAddress],
    [objectOf({ either: choiceOf(address, text) }), ['either']],
    [objectOf({ map: objectOf({ known: text }, text) }), ['map']],
    [objectOf({ empty: objectOf({}) }), ['empty']],
    [objectOf({ 'a.b': text, 'c,d': text }), ['a.b', 'c,d']],
    [objectOf({ a: objectOf({ b: objectOf({ c: objectOf({ d: objectOf({ e: text }) }) }) }) }), ['a.b.c.d']],
    [objectOf({ ids: arrayOf(int64) }), ['ids', 'ids_str']],
  ]
  for (const [item, headers] of rows) t.strictSame(headersOf(item), headers)
  const node = objectOf({ id: number })
  Object.assign(node, { members: [memberOf('id', number), memberOf('parent', node)] })
  t.strictSame(
    headersOf(node),
    ['id', 'parent'],
    'an item within an item of its own kind is JSON in one cell',
  )
})

t.test('items whose fields are not all known have no CSV', async (t) => {
  const anything = { kind: 'anything', nullable: true } as Shape
  const matched = { ...objectOf({ a: text }), patterns: [{ pattern: /^x/, shape: text }] } as unknown as Shape
  const required = { ...objectOf({ a: text }), alsoRequired: ['b'] } as Shape
  for (const item of [text, objectOf({ a: text }, text), anything, matched, required])
    t.match(headersOf(item), /does not name all of them/)
  const wide = (length: number) =>
    objectOf(Object.fromEntries(Array.from({ length }, (_, index) => [`c${index}`, text])))
  t.match(headersOf(wide(1001)), /more than 1000 columns/)
  t.equal(headersOf(wide(1000)).length, 1000)
})

t.test('the list is the array with the name, else the only one', async (t) => {
  const item = objectOf({ id: number })
  const rows: readonly (readonly [Shape | undefined, string | null | RegExp])[] = [
    [arrayOf(item), null],
    [objectOf({ users: arrayOf(item), tags: arrayOf(text) }), 'users'],
    [objectOf({ people: arrayOf(item), total: number }), 'people'],
    [objectOf({ people: choiceOf(arrayOf(item), nothing) }), 'people'],
    [objectOf({ people: choiceOf(arrayOf(item), arrayOf(text)) }), /no array of items/],
    [objectOf({ people: arrayOf(item), tags: arrayOf(text) }), /no array of items/],
    [objectOf({ id: number }), /no array of items/],
    [undefined, /needs a response schema/],
  ]
  for (const [answer, expected] of rows) {
    const list = csvListOf(answer, ['users'])
    if (expected instanceof RegExp) t.match('problem' in list ? list.problem : 'columns', expected)
    else t.equal('member' in list ? list.member : list.problem, expected)
  }
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
  const rows = [
    ['=1+1', "'=1+1"],
    ['@sum', "'@sum"],
    ['+cmd', "'+cmd"],
    ['-cmd', "'-cmd"],
    ['\tx', "'\tx"],
    ['＝1', "'＝1"],
    ['-5', '-5'],
    ['-1.5e+10', '-1.5e+10'],
    ['+4917012345', '+4917012345'],
    ['-1+1', "'-1+1"],
    ['a=b', 'a=b'],
  ] as const
  for (const [given, escaped] of rows) {
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
