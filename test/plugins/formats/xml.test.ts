/** XML of JSON: names, texts, digits. */
import fc from 'fast-check'
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser'
import t from 'tap'
import { builderOptions, isXmlName, itemName, xmlName, xmlOf } from '../../../src/plugins/formats/xml.js'
import { superlinearSeeds } from '../../support/growth.js'

const builder = new XMLBuilder(builderOptions)
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const instance = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

function memberOf(element: string): string {
  if (element === '_') return ''
  return element.replace(/_x([0-9A-F]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

t.test('any JSON name is the name of an element, and different names are different elements', async (t) => {
  const rows = [
    ['first_name', 'first_name'],
    ['pos_x', 'pos_x'],
    ['first name', 'first_x0020_name'],
    ['2nd', '_x0032_nd'],
    ['', '_'],
    ['_', '_x005F_'],
    ['a_x0020_x', 'a_x005F_x0020_x'],
    ['@_xsi:nil', '_x0040__xsi_x003A_nil'],
    ['__proto__', '__proto__'],
    ['😀', '_xD83D__xDE00_'],
  ] as const
  for (const [name, element] of rows) t.equal(xmlName(name), element, JSON.stringify(name))
  const any = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[_x0-9A-F :<&#@]{0,12}$/))
  fc.assert(fc.property(any, (name) => isXmlName(xmlName(name)) && memberOf(xmlName(name)) === name))
})

t.test('the items of an array have the singular of its name', async (t) => {
  const named = { users: 'user', postalCodes: 'postalCode', user_roles: 'user_role', addresses: 'address' }
  const others = { userIDs: 'userID', equipment: 'item', status: 'item', 2: 'item', '': 'item' }
  for (const [name, item] of Object.entries({ ...named, ...others })) t.equal(itemName(name), item, name)
})

t.test('members, arrays, null and empty values have their own form, and integers all digits', async (t) => {
  const rows: readonly (readonly [json: string, xml: string])[] = [
    ['{"id":1,"a":true}', '<user><id>1</id><a>true</a></user>'],
    ['{"tags":["a","b"],"none":[]}', '<user><tags><tag>a</tag><tag>b</tag></tags><none/></user>'],
    ['{"a":[[1],[]]}', '<user><a><item><item>1</item></item><item/></a></user>'],
    ['{"a":"","b":{}}', '<user><a/><b/></user>'],
    ['{"a":null}', `<user${instance}><a xsi:nil="true"/></user>`],
    ['[null,1]', `<user${instance}><item xsi:nil="true"/><item>1</item></user>`],
    ['null', `<user${instance} xsi:nil="true"/>`],
    ['{}', '<user/>'],
    ['18446744073709551615', '<user>18446744073709551615</user>'],
    ['{"s":"9 {\\"n\\":1}"}', '<user><s>9 {"n":1}</s></user>'],
    ['{"b":1,"a":2,"1":3}', '<user><_x0031_>3</_x0031_><b>1</b><a>2</a></user>'],
    ['{"__proto__":{"x":1},"a":2}', '<user><__proto__><x>1</x></__proto__><a>2</a></user>'],
    ['{"#text":"a","@_b":"c"}', '<user><_x0023_text>a</_x0023_text><_x0040__b>c</_x0040__b></user>'],
  ]
  for (const [json, xml] of rows) t.equal(xmlOf(json, 'user', builder), declaration + xml, json)
})

t.test('texts are escaped, and U+FFFD stands for what XML cannot hold', async (t) => {
  const texts = [
    ['\r\n', '&#13;\n'],
    ['a\u0000b\u001f\ufffe', 'a\ufffdb\ufffd\ufffd'],
    ['\ud800😀', '\ufffd😀'],
  ] as const
  for (const [text, escaped] of texts)
    t.equal(xmlOf(JSON.stringify({ a: text }), 'r', builder), `${declaration}<r><a>${escaped}</a></r>`)
})

t.test('JSON that goes deeper than 500 levels fails', async (t) => {
  for (const [start, end] of [['[', ']'] as const, ['{"a":', '}'] as const]) {
    const deep = (levels: number) => `${start.repeat(levels - 1)}[]${end.repeat(levels - 1)}`
    t.match(xmlOf(deep(500), 'a', builder), /<a>/)
    t.throws(() => xmlOf(deep(501), 'a', builder), /deeper than 500/)
  }
})

const parser = new XMLParser({ ignoreAttributes: false, parseTagValue: false, trimValues: false })
const text = fc
  .string({ unit: 'binary' })
  .map((one) => one.toWellFormed().replace(/[^\t\n -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ''))

t.test('any JSON is well-formed XML, and texts are read back', async () => {
  const written = (value: object) => xmlOf(JSON.stringify(value), 'root', builder)
  const property = fc.property(fc.jsonValue({ maxDepth: 3 }), text, (value, one) => {
    const { root } = parser.parse(written({ one })) as { readonly root: { readonly one: string } }
    return XMLValidator.validate(written({ value })) === true && root.one === one
  })
  fc.assert(property)
})

t.test('writing XML takes time in proportion to its length', async (t) => {
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
