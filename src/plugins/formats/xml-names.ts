import { BoundedCache } from '../../bounded-cache.js'
import { isCountedPlural, singular } from '../../words/plurals.js'

// XML 1.0 §2.3 without the colon, which separates the prefix of a namespace, without characters beyond U+FFFF, which
// parsers for earlier editions refuse, and without U+1680 and U+FEFF, which programs in JavaScript trim as white space.
const startChars =
  'A-Za-z_\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{167f}\\u{1681}-\\u{1fff}\\u{200c}-\\u{200d}' +
  '\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{fefe}\\u{ff00}-\\u{fffd}'
const startChar = new RegExp(`[${startChars}]`, 'u')
const nameChar = new RegExp(`[${startChars}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}-\\u{2040}]`, 'u')
const wholeName = new RegExp(`^${startChar.source}${nameChar.source}*$`, 'u')

// Most names. An underscore before an x may look like an encoded character.
const plainName = /^[A-Za-z](?:[A-Za-z0-9]|_(?!x))*$/
const encodedChar = /_x([0-9A-F]{4})_/g
const looksEncoded = /^x[0-9A-F]{4}/

// The members of a map are names that the app's data choose.
const cachedNames = 2000
const longestCached = 100
const names = new BoundedCache<string, string>(cachedNames)
const itemNames = new BoundedCache<string, string>(cachedNames)

/** Whether a text is the name of an XML element without a prefix. */
export function isXmlName(text: string): boolean {
  return wholeName.test(text)
}

/**
 * Returns the name of the XML element of a JSON member. A character that it cannot have becomes `_xHHHH_`, its UTF-16 code
 * in four hexadecimal digits, as SQL/XML (ISO 9075-14) writes it: `first name` is `first_x0020_name`. The empty name is
 * `_`. Different names have different elements.
 */
export function xmlName(name: string): string {
  if (plainName.test(name)) return name
  const known = names.get(name)
  if (known !== undefined) return known
  const encoded = encode(name)
  if (name.length <= longestCached) names.set(name, encoded)
  return encoded
}

/** Returns the JSON member of an XML element: the reverse of {@link xmlName}. */
export function memberOfXmlName(name: string): string {
  if (name === '_') return ''
  return name.replace(encodedChar, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/**
 * Returns the name of the elements of an array: the singular of the array's own name, in its style (`postalCodes`,
 * `postalCode`); `item` if it is not a plural.
 */
export function itemName(name: string): string {
  const known = itemNames.get(name)
  if (known !== undefined) return known
  const found = singularOf(name)
  if (name.length <= longestCached) itemNames.set(name, found)
  return found
}

function encode(name: string): string {
  if (name === '') return '_'
  if (name === '_') return escaped('_')
  let encoded = ''
  let index = 0
  for (const char of name) {
    const isAllowed = (index === 0 ? startChar : nameChar).test(char)
    index += char.length
    const isAmbiguous = char === '_' && looksEncoded.test(name.slice(index, index + 5))
    encoded += isAllowed && !isAmbiguous ? char : escaped(char)
  }
  return encoded
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index))
  return units.map((unit) => `_x${unit.toString(16).toUpperCase().padStart(4, '0')}_`).join('')
}

const lastWord = /[A-Z]?[a-z]+$/

function singularOf(name: string): string {
  const word = lastWord.exec(name)?.[0] ?? ''
  if (!isCountedPlural(word.toLowerCase())) return 'item'
  const one = singular(word.toLowerCase())
  const styled = word === word.toLowerCase() ? one : one.charAt(0).toUpperCase() + one.slice(1)
  return `${name.slice(0, name.length - word.length)}${styled}`
}
