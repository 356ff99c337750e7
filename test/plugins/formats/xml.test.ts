/** XML of JSON, and JSON of XML: names, texts, digits, and what is refused. */

import fc from 'fast-check'
import { XMLBuilder, XMLParser } from 'fast-xml-parser'
import t from 'tap'
import type { Json } from '../../../src/json-schema/json-schema.js'
import { jsonOfXml, parserOptions, type XmlPlace, xmlPlaceOf } from '../../../src/plugins/formats/xml-body.js'
import {
  builderOptions,
  isXmlName,
  itemName,
  memberOfXmlName,
  xmlName,
  xmlOf,
} from '../../../src/plugins/formats/xml-writer.js'
import { isProblemError } from '../../../src/problem/problem-error.js'
import { superlinearSeeds } from '../../support/growth.js'

const builder = new XMLBuilder(builderOptions)
const parser = new XMLParser(parserOptions())
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const instance = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

function placeOf(schema: Json): XmlPlace {
  const place = xmlPlaceOf(schema, {})
  if ('pointer' in place) throw new TypeError(`unclear at ${place.pointer}`)
  return place
}

function refusal(xml: string, schema: Json): string {
  try {
    return `read as ${jsonOfXml(xml, placeOf(schema), parser)}`
  } catch (error) {
    if (!isProblemError(error) || error.code !== 'body-malformed') throw error
    return error.message
  }
}

t.test('any JSON name is the name of an element, and different names are different elements', async (t) => {
  const rows = [
    ['name', 'name'],
    ['first_name', 'first_name'],
    ['pos_x', 'pos_x'],
    ['first name', 'first_x0020_name'],
    ['2nd', '_x0032_nd'],
    ['a:b', 'a_x003A_b'],
    ['', '_'],
    ['_', '_x005F_'],
    ['_x0020_', '_x005F_x0020_'],
    ['größe', 'größe'],
    ['@_xsi:nil', '_x0040__xsi_x003A_nil'],
    ['#text', '_x0023_text'],
    ['__proto__', '__proto__'],
    ['<a>', '_x003C_a_x003E_'],
    ['\ud800', '_xD800_'],
    ['😀', '_xD83D__xDE00_'],
    ['\u1680', '_x1680_'],
    ['a\ufeff', 'a_xFEFF_'],
  ] as const
  for (const [name, element] of rows) t.equal(xmlName(name), element, JSON.stringify(name))
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[_x0-9A-F :]{0,12}$/)),
      (name) => {
        const element = xmlName(name)
        return isXmlName(element) && memberOfXmlName(element) === name
      },
    ),
  )
})

t.test('the items of an array have the singular of its name', async (t) => {
  const rows = [
    ['users', 'user'],
    ['postalCodes', 'postalCode'],
    ['user_roles', 'user_role'],
    ['addresses', 'address'],
    ['userIDs', 'userID'],
    ['equipment', 'item'],
    ['status', 'item'],
    ['2', 'item'],
    ['', 'item'],
  ] as const
  for (const [name, item] of rows) t.equal(itemName(name), item, name)
})

t.test('members, arrays, null and empty values have their own form', async (t) => {
  const rows: readonly (readonly [json: string, xml: string])[] = [
    ['{"id":1,"name":"Ada"}', '<user><id>1</id><name>Ada</name></user>'],
    ['{"tags":["a","b"],"none":[]}', '<user><tags><tag>a</tag><tag>b</tag></tags><none/></user>'],
    ['{"a":[[1],[]]}', '<user><a><item><item>1</item></item><item/></a></user>'],
    ['{"a":"","b":{}}', '<user><a/><b/></user>'],
    ['{"a":true,"b":false}', '<user><a>true</a><b>false</b></user>'],
    ['{"a":null}', `<user${instance}><a xsi:nil="true"/></user>`],
    ['[null,1]', `<user${instance}><item xsi:nil="true"/><item>1</item></user>`],
    ['null', `<user${instance} xsi:nil="true"/>`],
    ['"x"', '<user>x</user>'],
    ['{}', '<user/>'],
    ['{"b":1,"a":2,"1":3}', '<user><_x0031_>3</_x0031_><b>1</b><a>2</a></user>'],
    [
      '{"__proto__":{"x":1},"constructor":2}',
      '<user><__proto__><x>1</x></__proto__><constructor>2</constructor></user>',
    ],
    [
      '{"#text":"a","@_b":"c","?xml":"d"}',
      '<user><_x0023_text>a</_x0023_text><_x0040__b>c</_x0040__b><_x003F_xml>d</_x003F_xml></user>',
    ],
  ]
  for (const [json, xml] of rows) t.equal(xmlOf(json, 'user', builder), declaration + xml, json)
})

t.test('numbers keep all their characters', async (t) => {
  for (const digits of [
    '9007199254740993',
    '18446744073709551615',
    '-1',
    '1.10',
    '1e400',
    '-0',
    '0.1234567890123456789',
  ]) {
    t.equal(xmlOf(`{"n":${digits}}`, 'a', builder), `${declaration}<a><n>${digits}</n></a>`, digits)
  }
  t.equal(xmlOf('{"s":"9 {\\"n\\":1}"}', 'a', builder), `${declaration}<a><s>9 {"n":1}</s></a>`)
})

t.test('texts are escaped, and U+FFFD stands for what XML cannot hold', async (t) => {
  const texts = [
    ['<b>&"\'</b>]]>', '&lt;b&gt;&amp;"\'&lt;/b&gt;]]&gt;'],
    ['\t\n', '\t\n'],
    ['\r\n', '&#13;\n'],
    ['a\u0000b\u001f\ufffe', 'a\ufffdb\ufffd\ufffd'],
    ['\ud800😀', '\ufffd😀'],
    ['  ', '  '],
  ] as const
  for (const [text, escaped] of texts)
    t.equal(xmlOf(JSON.stringify({ a: text }), 'r', builder), `${declaration}<r><a>${escaped}</a></r>`)
})

t.test('JSON that goes deeper than 500 levels fails', async (t) => {
  const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
  t.match(xmlOf(deep(500), 'a', builder), /<a>/)
  t.throws(() => xmlOf(deep(502), 'a', builder), /deeper than 500/)
})

const address = {
  type: 'object',
  properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } },
}
const User: Json = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    ratio: { type: 'number' },
    active: { type: 'boolean' },
    name: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
    addresses: { type: 'array', items: address },
    address,
  },
}

t.test('the body schema says what is a number, a boolean, an array', async (t) => {
  const rows: readonly (readonly [xml: string, json: string])[] = [
    ['<user><id>9007199254740993</id></user>', '{"id":9007199254740993}'],
    [
      '<user><id> 7\n</id><ratio>1.50</ratio><active>true</active></user>',
      '{"id":7,"ratio":1.50,"active":true}',
    ],
    ['<user><id>007</id><active>yes</active><ratio/></user>', '{"id":"007","active":"yes","ratio":""}'],
    ['<user><name> 1 </name></user>', '{"name":" 1 "}'],
    ['<user><tags><tag>1</tag></tags></user>', '{"tags":["1"]}'],
    [
      '<user><tags/><addresses><a/><b><city>x</city></b></addresses></user>',
      '{"tags":[],"addresses":[{},{"city":"x"}]}',
    ],
    [`<user${instance}><address><zip xsi:nil="true"/></address></user>`, '{"address":{"zip":null}}'],
    ['<u xmlns="urn:x"><other>1</other><more><a>b</a></more></u>', '{"other":"1","more":{"a":"b"}}'],
    [
      '<user><name>a&lt;&#x42;&#67;<!-- no --><![CDATA[<&amp;]]>&quot;</name></user>',
      '{"name":"a<BC<&amp;\\""}',
    ],
    ['<user><name>a\r\nb&#13;</name></user>', '{"name":"a\\nb\\r"}'],
    ['\ufeff<?xml version="1.0" encoding="utf-8"?>\n<!-- c -->\n<user/>\n', '{}'],
    ['<user><first_x0020_name>a</first_x0020_name></user>', '{"first name":"a"}'],
    ['<user><name><![CDATA[<!DOCTYPE html>]]></name></user>', '{"name":"<!DOCTYPE html>"}'],
    ['<user><toString>1</toString></user>', '{"toString":"1"}'],
  ]
  for (const [xml, json] of rows) t.equal(jsonOfXml(xml, placeOf(User), parser), json, xml)
  const open: Json = { type: 'object', additionalProperties: { type: 'integer' } }
  t.equal(jsonOfXml('<a><b>1</b></a>', placeOf(open), parser), '{"b":1}')
  t.equal(
    jsonOfXml('<a><b>1</b><c>2</c></a>', placeOf({ type: 'array', items: { type: 'number' } }), parser),
    '[1,2]',
  )
})

t.test('what is not XML, and what JSON cannot hold, is body-malformed', async (t) => {
  const rows: readonly (readonly [xml: string, why: RegExp])[] = [
    ['', /Start tag/],
    ['<user><name>A', /ends within an element/],
    ['<user><name>A</name>', /Unclosed/],
    ['<user>A', /Unclosed/],
    ['<user></user>text', /Extra text at the end/],
    ['x>', /not expected/],
    ['<user>', /Unclosed/],
    ['<user></users>', /Expected closing tag/],
    ['<user/><user/>', /XML/],
    ['<user/>text', /text after/],
    ['<user><__proto__><x>1</x></__proto__></user>', /name that is not read/],
    ['<user><constructor>1</constructor></user>', /name that is not read/],
    ['<user><name>a</name><name>b</name></user>', /<name> more than once/],
    ['<user>text<name>a</name></user>', /text beside elements/],
    ['<user><name><b>a</b></name></user>', /elements in place of a value/],
    ['<user id="1"/>', /attribute id; attributes are not read/],
    ['<user><x:name>a</x:name></user>', /without a namespace/],
    ['<user><address xsi:nil="true"><city>a</city></address></user>', /is nil and has content/],
    ['<user><name>&nbsp;</name></user>', /not known/],
    ['<user><name>&#0;</name></user>', /not known/],
    ['<user><name>&#x110000;</name></user>', /not known/],
    ['<user><name>\u0001</name></user>', /does not allow/],
    ['<?xml version="1.0" encoding="ISO-8859-1"?><user/>', /has to be UTF-8/],
    ['<!DOCTYPE user><user/>', /document type declaration/],
    ['<!DOCTYPE user [<!ENTITY a "b">]><user><name>&a;</name></user>', /document type declaration/],
    ['<!DOCTYPE user SYSTEM "file:///etc/passwd"><user/>', /document type declaration/],
    [`${'<a>'.repeat(200)}${'</a>'.repeat(200)}`, /nested/],
  ]
  for (const [xml, why] of rows) t.match(refusal(xml, User), why, xml.slice(0, 80))
})

t.test('entities that multiply are refused before they are expanded', async (t) => {
  const names = Array.from({ length: 30 }, (_, index) => `e${index}`)
  const entities = names.map(
    (name, index) => `<!ENTITY ${name} "${index === 0 ? 'x' : `&${names[index - 1]};`.repeat(10)}">`,
  )
  t.match(
    refusal(`<!DOCTYPE u [${entities.join('')}]><u><name>&e29;</name></u>`, User),
    /document type declaration/,
  )
})

t.test('a schema that leaves open what a value is has the place in its finding', async (t) => {
  const rows: readonly (readonly [schema: Json, pointer: string])[] = [
    [{}, ''],
    [{ type: ['object', 'string'] }, ''],
    [{ type: 'object', properties: { a: {} } }, '/a'],
    [{ type: 'object', properties: { a: { type: 'array' } } }, '/a/0'],
    [
      {
        type: 'object',
        properties: { a: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } },
      },
      '/a',
    ],
    [{ type: 'array', items: [{ type: 'string' }] }, ''],
  ]
  for (const [schema, pointer] of rows)
    t.strictSame(xmlPlaceOf(schema, {}), { pointer }, JSON.stringify(schema))
})

t.test('a recursive schema is read', async (t) => {
  const node: Json = {
    $id: 'node',
    type: 'object',
    properties: { value: { type: 'integer' }, children: { type: 'array', items: { $ref: 'node#' } } },
  }
  const place = xmlPlaceOf({ $ref: 'node#' }, { node })
  if ('pointer' in place) throw new TypeError(place.pointer)
  const xml = '<node><value>1</value><children><child><value>2</value><children/></child></children></node>'
  t.equal(jsonOfXml(xml, place, parser), '{"value":1,"children":[{"value":2,"children":[]}]}')
})

const refused = new Set(['__proto__', 'constructor', 'prototype'])

interface Sample {
  readonly schema: Json
  readonly value: unknown
}

const word = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('a', '__x', '#text', 'xml', '_x0020_'),
)
const text = fc
  .string({ unit: 'binary' })
  .map((one) => one.toWellFormed().replace(/[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ''))
const { sample } = fc.letrec<{ sample: Sample; leaf: Sample }>((tie) => ({
  leaf: fc.oneof(
    text.map((value): Sample => ({ schema: { type: 'string' }, value })),
    fc.integer().map((value): Sample => ({ schema: { type: 'integer' }, value })),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((value): Sample => ({ schema: { type: 'number' }, value })),
    fc.boolean().map((value): Sample => ({ schema: { type: 'boolean' }, value })),
    fc.constant<Sample>({ schema: { type: ['string', 'null'] }, value: null }),
  ),
  sample: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.tuple(tie('sample'), fc.nat(3)).map(
      ([{ schema, value }, count]): Sample => ({
        schema: { type: 'array', items: schema },
        value: Array.from({ length: count }, () => value),
      }),
    ),
    fc.dictionary(word, tie('sample'), { maxKeys: 4 }).map((members): Sample => {
      const entries = Object.entries(members).filter(([name]) => !refused.has(name))
      return {
        schema: {
          type: 'object',
          properties: Object.fromEntries(entries.map(([name, one]) => [name, one.schema])),
        },
        value: Object.fromEntries(entries.map(([name, one]) => [name, one.value])),
      }
    }),
  ),
}))

t.test('JSON as XML, read by its schema, is the same JSON', async () => {
  fc.assert(
    fc.property(sample, ({ schema, value }) => {
      const json = JSON.stringify(value)
      return jsonOfXml(xmlOf(json, 'root', builder), placeOf(schema), parser) === json
    }),
    { numRuns: 300 },
  )
})

t.test('every UTF-16 code unit can begin and end a name', async (t) => {
  const place = placeOf({ type: 'object', additionalProperties: { type: 'string' } })
  for (let start = 0; start < 0x10000; start += 0x40) {
    const units = Array.from({ length: 0x40 }, (_, index) => String.fromCharCode(start + index))
    const json = JSON.stringify(Object.fromEntries(units.map((unit) => [`${unit}a${unit}`, ''])))
    const read = jsonOfXml(xmlOf(json, 'root', builder), place, parser)
    if (read !== json) t.equal(read, json)
  }
})

t.test('arbitrary text is read or refused, and never throws anything else', async () => {
  const pieces = fc.constantFrom(
    '<a>',
    '</a>',
    '<a/>',
    '<',
    '>',
    '&',
    '&lt;',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '<?',
    '?>',
    '<!DOCTYPE ',
    '[',
    'x',
    ' ',
    '"',
    '=',
    '\u0000',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 12 }), (parts) => {
      refusal(parts.join(''), User)
    }),
    { numRuns: 2000 },
  )
})

t.test('reading XML and writing it takes time in proportion to its length', async (t) => {
  const seeds = [
    '<a>',
    '<a/>',
    '</a>',
    '<a b="c" ',
    '<a a',
    '<',
    '<!',
    '<!--',
    '<!-- -->',
    '<?',
    '<?a b?>',
    '<![CDATA[',
    '<![CDATA[]]>',
    '<!DOCTYPE ',
    '&',
    '&lt;',
    '&#x41;',
    '&#',
    'x',
    ' ',
    '\r',
    '"',
    '<tag>x</tag>',
    '<a1>x</a1>',
  ]
  const wraps: readonly ((input: string) => string)[] = [
    (input) => input,
    (input) => `<user><tags>${input}</tags></user>`,
    (input) => `<user ${input}/>`,
    (input) => `<?xml version="1.0" ${input}?><user/>`,
  ]
  for (const wrap of wraps)
    t.strictSame(await superlinearSeeds(seeds, (input) => refusal(wrap(input), User)), [], wrap('…'))
  const texts = ['<', '\u0000', '_x0020_', ' ', '-', '1.', '0.00', '1e', '9', '["', '{"a":', '\\u0000']
  const written = await superlinearSeeds(texts, (input) =>
    xmlOf(JSON.stringify({ [input]: input, a: [input] }), 'a', builder),
  )
  t.strictSame(written, [], 'texts and names')
  const numbers = await superlinearSeeds(['1', '0', '1.', '.0', '-0,', '1e1,'], (input) => {
    try {
      return xmlOf(`[${input}1]`, 'a', builder)
    } catch {
      return null
    }
  })
  t.strictSame(numbers, [], 'numbers')
})
