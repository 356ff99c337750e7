import { parseCharacters } from '../../json/parse-exact.js'
import { itemName, xmlName } from './xml-names.js'

/** Writes a tree as XML: `XMLBuilder` of fast-xml-parser, with {@link builderOptions}. */
export interface XmlBuilder {
  build(tree: unknown): string
}

/** Options of `XMLBuilder`. Texts are escaped here, because the builder does not escape what XML cannot hold. */
export const builderOptions = {
  ignoreAttributes: false,
  attributeNamePrefix: '@_',
  suppressBooleanAttributes: false,
  suppressEmptyNode: true,
  processEntities: false,
  jPath: false,
  maxNestedTags: 0,
} as const

/** An element: its text, or its attributes (`@_` before the name) and elements. */
type Element = string | { readonly [name: string]: Element | readonly Element[] }

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const nil = { '@_xsi:nil': 'true' }
const namespace = { '@_xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance' }

/** Maximum depth of a response, that of JSON which this package writes itself. */
const maxDepth = 500

/**
 * Returns JSON as an XML 1.0 document. A member is an element with its name; an array is an element with one element for
 * each item; `null` is `xsi:nil="true"`. Numbers keep their digits.
 *
 * @param root name of the root element
 * @throws TypeError for JSON that goes deeper than 500 levels
 */
export function xmlOf(json: string, root: string, builder: XmlBuilder): string {
  let hasNull = false

  function elementOf(value: unknown, name: string, depth: number): Element {
    if (typeof value === 'string') return escapeText(value)
    if (typeof value !== 'object') return String(value)
    if (value === null) {
      hasNull = true
      return nil
    }
    if (depth >= maxDepth) throw new TypeError(`the response goes deeper than ${maxDepth} levels`)
    if (Array.isArray(value)) {
      const item = itemName(name)
      if (value.length === 0) return ''
      return { [xmlName(item)]: value.map((one) => elementOf(one, item, depth + 1)) }
    }
    const element: Record<string, Element> = Object.create(null)
    let isEmpty = true
    for (const [member, one] of Object.entries(value)) {
      isEmpty = false
      element[xmlName(member)] = elementOf(one, member, depth + 1)
    }
    return isEmpty ? '' : element
  }

  const element = elementOf(parseCharacters(json), root, 0)
  const isNamespaced = hasNull && typeof element === 'object'
  return declaration + builder.build({ [root]: isNamespaced ? { ...namespace, ...element } : element })
}

/** A character that XML 1.0 §2.2 does not have. */
export const invalidChar = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

// And those that have a meaning in a text. A carriage return would be read as a line feed.
const special = new RegExp(`[&<>\\r]|${invalidChar.source}`, 'u')
const allSpecial = new RegExp(special, 'gu')
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }

/** Escapes a text. U+FFFD stands for a character that XML cannot hold. */
function escapeText(text: string): string {
  return special.test(text) ? text.replace(allSpecial, (char) => entities[char] ?? '\ufffd') : text
}
