import { LruMap } from 'toad-cache'
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

  const element = elementOf(parseExact(json), root, 0)
  const isNamespaced = hasNull && typeof element === 'object'
  return declaration + builder.build({ [root]: isNamespaced ? { ...namespace, ...element } : element })
}

/** A character that XML 1.0 §2.2 does not have. */
const invalidChar = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

// And those that have a meaning in a text. A carriage return would be read as a line feed.
const special = new RegExp(`[&<>\\r]|${invalidChar.source}`, 'u')
const allSpecial = new RegExp(special, 'gu')
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }

/** U+FFFD stands for a character that XML cannot hold. */
function escapeText(text: string): string {
  return special.test(text) ? text.replace(allSpecial, (char) => entities[char] ?? '\ufffd') : text
}

// A name in ASCII. An underscore before an x may look like an encoded character.
const plainName = /^[A-Za-z](?:[A-Za-z0-9]|_(?!x))*$/
const encoded = /^[^A-Za-z_]|[^\w.-]|_(?=x[0-9A-F]{4})/g

export function isXmlName(text: string): boolean {
  return /^[A-Za-z_][\w.-]*$/.test(text)
}

/** Returns a name with each character that it cannot have as `_xHHHH_` (ISO 9075-14), so that it can be read back. */
export function xmlName(name: string): string {
  if (plainName.test(name)) return name
  if (name === '') return '_'
  return name === '_' ? escaped(name) : name.replace(encoded, escaped)
}

function escaped(unit: string): string {
  return `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`
}

// The members of a map are names that the app's data choose.
const cachedNames = 2000
const longestCached = 100
const itemNames = new LruMap<string>(cachedNames)

export function itemName(name: string): string {
  const known = itemNames.get(name)
  if (known !== undefined) return known
  const found = singularOf(name)
  if (name.length <= longestCached) itemNames.set(name, found)
  return found
}

const lastWord = /[A-Z]?[a-z]+$/

function singularOf(name: string): string {
  const word = lastWord.exec(name)?.[0] ?? ''
  if (!isCountedPlural(word.toLowerCase())) return 'item'
  const one = singular(word.toLowerCase())
  const styled = word === word.toLowerCase() ? one : one.charAt(0).toUpperCase() + one.slice(1)
  return `${name.slice(0, name.length - word.length)}${styled}`
}
