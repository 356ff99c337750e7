import { parseExact } from '../../json/exact-json.js'
import { isCountedPlural, singular } from '../../words/words.js'

/** Writes a tree as XML: `XMLBuilder` of fast-xml-parser, with builderOptions. */
export interface XmlBuilder {
  build(tree: unknown): string
}

/** Texts are escaped here, because the builder does not escape what XML cannot hold. */
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

const maxDepth = 500

export function xmlOf(json: string, root: string, builder: XmlBuilder): string {
  const itemNames = new Map<string, string>()
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
      if (value.length === 0) return ''
      const item = itemNames.get(name) ?? itemName(name)
      itemNames.set(name, item)
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

  const element = elementOf(parseExact(json), root, 0)
  const isNamespaced = hasNull && typeof element === 'object'
  return declaration + builder.build({ [root]: isNamespaced ? { ...namespace, ...element } : element })
}

// What has a meaning in a text, and what XML 1.0 §2.2 does not have. A carriage return would be read as a line feed.
const special = /[&<>\r]|[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }

/** U+FFFD stands for a character that XML cannot hold. */
function escapeText(text: string): string {
  return text.replace(special, (char) => entities[char] ?? '\ufffd')
}

// XML 1.0 §2.3, of ASCII, without the colon, which separates the prefix of a namespace. An underscore before the `x` of
// an escape is escaped itself.
const wholeName = /^[A-Za-z_][A-Za-z0-9_.-]*$/
const unnamed = /^[^A-Za-z_]|[^A-Za-z0-9_.-]|^_$|_(?=x[0-9A-F]{4})/gu

export function isXmlName(text: string): boolean {
  return wholeName.test(text)
}

export function xmlName(name: string): string {
  return name === '' ? '_' : name.replace(unnamed, escaped)
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index))
  return units.map((unit) => `_x${unit.toString(16).toUpperCase().padStart(4, '0')}_`).join('')
}

const lastWord = /[A-Z]?[a-z]+$/

export function itemName(name: string): string {
  const word = lastWord.exec(name)?.[0] ?? ''
  if (!isCountedPlural(word.toLowerCase())) return 'item'
  const one = singular(word.toLowerCase())
  const styled = word === word.toLowerCase() ? one : one.charAt(0).toUpperCase() + one.slice(1)
  return `${name.slice(0, name.length - word.length)}${styled}`
}
