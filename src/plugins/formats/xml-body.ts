import {
  isSchemaObject,
  type Json,
  type SchemaObject,
  type SchemaStore,
} from '../../json-schema/json-schema.js'
import { isTuple, namelessOf, partsOf, propertiesOf, typesOfParts } from '../../json-schema/parts.js'
import { SchemaReader } from '../../json-schema/reader.js'
import { ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'
import { invalidChar, isXmlName, memberOfXmlName } from './xml-writer.js'

/** Parses XML: `XMLParser` of fast-xml-parser, with parserOptions. */
export interface XmlParser {
  parse(xml: string, validate: true): unknown
}

const maxLevels = 100

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

/** Returns an XML document as the JSON that a body schema describes. The name of the root element does not matter. */
export function jsonOfXml(xml: string, place: XmlPlace, parser: XmlParser): string {
  checkProlog(xml)
  if (invalidChar.test(xml)) throw malformed('it has a character that XML 1.0 does not allow')
  const nodes = parse(xml, parser)
  // The parser reads over a text after an empty root element.
  if (!xml.trimEnd().endsWith('>')) throw malformed('it has text after the root element')
  const roots = nodesOf(nodes).filter(({ text }) => text === null)
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
    if (message.startsWith('[SECURITY]')) throw malformed('it has a name that is not read')
    // The parser lists the open elements as JSON over several lines.
    throw malformed(message.startsWith("Invalid '[") ? 'it ends within an element' : clip(message, maxShown))
  }
}

const encoding = /^\ufeff?<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']/

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

/** What a body schema says of an element, as far as XML itself does not. */
export interface XmlPlace {
  readonly kind: 'object' | 'array' | 'text' | 'scalar'
  /** Places of the declared members of an object. */
  readonly members: ReadonlyMap<string, XmlPlace>
  /** Place of the items of an array, or of the other members of an object; `null` if the schema does not say. */
  readonly others: XmlPlace | null
}

export interface UnclearPlace {
  /** JSON Pointer in the body. */
  readonly pointer: string
}

export function xmlPlaceOf(body: Json, shared: SchemaStore): XmlPlace | UnclearPlace {
  const reader = new SchemaReader(shared)
  const known = new Map<string, XmlPlace>()
  const ids = new Map<SchemaObject, number>()
  let unclear: UnclearPlace | null = null

  // The parts of a schema are few, so a recursive schema has a finite number of places.
  function keyOf(parts: readonly SchemaObject[]): string {
    return parts
      .map((part) => {
        const id = ids.get(part) ?? ids.size
        ids.set(part, id)
        return id
      })
      .join()
  }

  function placeOf(schemas: readonly Json[], pointer: string): XmlPlace {
    const parts = partsOf(reader, schemas)
    const key = keyOf(parts)
    const before = known.get(key)
    if (before !== undefined) return before
    const kind = kindOf(parts)
    if (kind === null) unclear ??= { pointer }
    const members = new Map<string, XmlPlace>()
    const place = { kind: kind ?? 'text', members, others: null as XmlPlace | null }
    known.set(key, place)
    if (kind === 'object') {
      for (const [name, declared] of propertiesOf(parts)) {
        members.set(name, placeOf(declared, `${pointer}/${name}`))
      }
    }
    const nameless = kind === 'object' || kind === 'array' ? namelessOf(parts).filter(isSchemaObject) : []
    if (nameless.length > 0) place.others = placeOf(nameless, `${pointer}/${kind === 'array' ? '0' : '*'}`)
    else if (kind === 'array') unclear ??= { pointer: `${pointer}/0` }
    return place
  }

  const root = placeOf([reader.absolute(body, body)], '')
  return unclear ?? root
}

function kindOf(parts: readonly SchemaObject[]): XmlPlace['kind'] | null {
  const types = new Set(typesOfParts(parts))
  types.delete('null')
  if (types.size === 0 || isTuple(parts)) return null
  if (types.has('object') || types.has('array')) {
    return types.size > 1 ? null : types.has('object') ? 'object' : 'array'
  }
  return types.has('string') ? 'text' : 'scalar'
}
