import { ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'
import { isXmlName, memberOfXmlName } from './xml-names.js'
import type { XmlPlace } from './xml-places.js'
import { invalidChar } from './xml-writer.js'

/** Parses XML: `XMLParser` of fast-xml-parser, with {@link parserOptions}. */
export interface XmlParser {
  parse(xml: string, validate: true): unknown
}

/** Maximum number of levels of elements. */
const maxLevels = 100

/** Options of `XMLParser`: elements in their order, all values as text, no entities but those of XML itself. */
export function parserOptions() {
  return {
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
    trimValues: false,
    ignorePiTags: true,
    jPath: false,
    maxNestedTags: maxLevels,
    onDangerousProperty: (name: string) => name,
    entityDecoder: {
      decode: decodeReferences,
      // Called for a document type declaration, whether or not it declares entities.
      addInputEntities: refuseDoctype,
      setExternalEntities: doNothing,
      reset: doNothing,
      setXmlVersion: doNothing,
    },
  }
}

/**
 * Returns an XML document as the JSON that a body schema describes. The digits of numbers are copied. The name of the root
 * element does not matter.
 *
 * @throws ProblemError `body-malformed` for text that is not XML, and for XML that JSON cannot hold
 */
export function jsonOfXml(xml: string, place: XmlPlace, parser: XmlParser): string {
  checkProlog(xml)
  if (invalidChar.test(xml)) throw malformed('it has a character that XML 1.0 does not allow')
  // The parser reads over a text after an empty root element.
  if (!xml.trimEnd().endsWith('>')) throw malformed('it has text after the root element')
  const roots = nodesOf(parse(xml, parser)).filter(({ text }) => text === null)
  const [root] = roots
  if (root === undefined || roots.length > 1) throw malformed('it has no root element')
  return jsonOf(root, place)
}

function parse(xml: string, parser: XmlParser): unknown {
  try {
    return parser.parse(xml, true)
  } catch (error) {
    if (error instanceof ProblemError) throw error
    const message = error instanceof Error ? error.message : String(error)
    // The parser refuses the names by which programs change the prototypes of objects.
    throw malformed(
      message.startsWith('[SECURITY]') ? 'it has a name that is not read' : clip(message, maxShown),
    )
  }
}

const encoding = /^\ufeff?<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']/

/** Checks the declared encoding; the bytes are UTF-8. */
function checkProlog(xml: string): void {
  const declared = encoding.exec(xml)?.[1]
  if (declared !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(declared))
    throw malformed(`its encoding has to be UTF-8, and it declares ${clip(declared, maxShown)}`)
}

/** An element, or a text between elements. */
interface XmlNode {
  readonly name: string
  /** The text, if it is one. */
  readonly text: string | null
  readonly children: unknown
  readonly isNil: boolean
}

function nodesOf(ordered: unknown): XmlNode[] {
  if (!Array.isArray(ordered)) throw malformed('it has no root element')
  return ordered.map((node: Readonly<Record<string, unknown>>): XmlNode => {
    const [name = ''] = Object.keys(node)
    const value = node[name]
    if (name === '#text') return { name, text: String(value), children: [], isNil: false }
    return { name, text: null, children: value, isNil: isNil(name, node[':@']) }
  })
}

// The namespaces that say something about XML itself.
const ignoredAttribute = /^(?:xmlns$|xmlns:|xsi:|xml:)/

function isNil(element: string, attributes: unknown): boolean {
  const given = (attributes ?? {}) as Readonly<Record<string, unknown>>
  const read = Object.keys(given).find((name) => !ignoredAttribute.test(name))
  if (read !== undefined)
    throw malformed(`${shown(element)} has the attribute ${clip(read, maxShown)}; attributes are not read`)
  const nil = given['xsi:nil']
  return nil === 'true' || nil === '1'
}

const blank = /^[ \t\r\n]*$/

function jsonOf(element: XmlNode, place: XmlPlace | null): string {
  const nodes = nodesOf(element.children)
  const elements = nodes.filter(({ text }) => text === null)
  const text = nodes.map((node) => node.text ?? '').join('')
  if (element.isNil) {
    if (nodes.length > 0) throw malformed(`${shown(element.name)} is nil and has content`)
    return 'null'
  }
  const kind = place?.kind ?? (elements.length > 0 ? 'object' : 'text')
  if (kind === 'text' || kind === 'scalar') {
    if (elements.length > 0) throw malformed(`${shown(element.name)} has elements in place of a value`)
    return kind === 'text' ? JSON.stringify(text) : scalarOf(text)
  }
  if (!blank.test(text)) throw malformed(`${shown(element.name)} has text beside elements`)
  if (kind === 'array') return `[${elements.map((item) => jsonOf(item, place?.others ?? null)).join(',')}]`
  return objectOf(element, elements, place)
}

function objectOf(element: XmlNode, elements: readonly XmlNode[], place: XmlPlace | null): string {
  const members = new Map<string, string>()
  for (const child of elements) {
    const { name } = child
    if (!isXmlName(name)) throw malformed(`${shown(name)} is not the name of an element without a namespace`)
    const member = memberOfXmlName(name)
    if (members.has(member)) throw malformed(`${shown(element.name)} has ${shown(name)} more than once`)
    members.set(member, jsonOf(child, place?.members.get(member) ?? place?.others ?? null))
  }
  return `{${[...members].map(([member, json]) => `${JSON.stringify(member)}:${json}`).join(',')}}`
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** A number or boolean as JSON. Any other text stays one, for the validator to refuse or to convert. */
function scalarOf(text: string): string {
  const value = text.replace(/^[ \t\r\n]+/, '').replace(/[ \t\r\n]+$/, '')
  return jsonNumber.test(value) || value === 'true' || value === 'false' ? value : JSON.stringify(value)
}

const reference = /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));|&/g
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Replaces character references and the five entities of XML (XML 1.0 §4.6). */
function decodeReferences(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(reference, (_, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return entities[name] ?? ''
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hexadecimal ?? '', 16)
    const char = code <= 0x10ffff ? String.fromCodePoint(code) : ''
    if (char === '' || invalidChar.test(char))
      throw malformed('it has a reference to a character or an entity that is not known')
    return char
  })
}

function refuseDoctype(): never {
  throw malformed('it has a document type declaration, which is not read')
}

function doNothing(): void {}

const maxShown = 100

function shown(name: string): string {
  return `<${clip(name, maxShown)}>`
}

function malformed(why: string): ProblemError {
  return new ProblemError('body-malformed', { detail: `The body is not XML that is read here: ${why}` })
}
