import type { Format } from '../../fastify/formats.js'
import type { FieldSelection } from '../../fastify/selection.js'
import { isList, shapeWithin } from '../../json-schema/field-names.js'
import type { Shape } from '../../json-schema/shape.js'
import { loadPeer } from '../../load-peer.js'
import type { Column, CsvList } from './csv-columns.js'
import { csvOf, type Formulas, type StringifyCsv } from './csv-writer.js'
import { parserOptions, type XmlParser } from './xml-body.js'
import { builderOptions, isXmlName, itemName, type XmlBuilder, xmlName, xmlOf } from './xml-writer.js'

/** What a request gets of the data. */
export interface RequestView {
  /** The selected fields; `null` for all. */
  readonly selection: Pick<FieldSelection, 'has'> | null
  /** Whether 64-bit integers have twins. */
  readonly hasTwins: boolean
}

/** How a route writes a format. */
export interface FormatWriter {
  /** Value of `Content-Type`. */
  contentType(mediaType: string): string
  /** Value of `Content-Disposition`; `null` for none. */
  readonly disposition: string | null
  /** Returns the content; `null` if the JSON cannot be written in this format. */
  write(json: string, view: RequestView): string | null
}

/** The packages of the formats; loaded when the app gets ready. */
export interface Libraries {
  builder: XmlBuilder | null
  parser: XmlParser | null
  csv: StringifyCsv | null
}

export async function loadLibraries(
  libraries: Libraries,
  needed: ReadonlySet<Format | 'body'>,
): Promise<void> {
  if (needed.has('xml') || needed.has('body')) {
    const { XMLBuilder, XMLParser } = await loadPeer(
      'formats',
      'fast-xml-parser',
      () => import('fast-xml-parser'),
    )
    libraries.builder = new XMLBuilder(builderOptions)
    libraries.parser = new XMLParser(parserOptions())
  }
  if (needed.has('csv')) {
    const { stringify } = await loadPeer('formats', 'csv-stringify', () => import('csv-stringify/sync'))
    libraries.csv = stringify as StringifyCsv
  }
}

export function xmlWriter(root: () => string, libraries: Libraries): FormatWriter {
  return {
    contentType: (mediaType) => `${mediaType}; charset=utf-8`,
    disposition: null,
    write: (json) => (libraries.builder === null ? null : xmlOf(json, root(), libraries.builder)),
  }
}

export function csvWriter(
  name: () => string,
  list: () => CsvList | null,
  formulas: Formulas,
  libraries: Libraries,
): FormatWriter {
  const bySelection = new WeakMap<object, readonly Column[]>()

  // Whether there are twins is the same for all requests of a route.
  function columnsFor({ selection, hasTwins }: RequestView, { columns }: CsvList): readonly Column[] {
    const known = bySelection.get(selection ?? columns)
    if (known !== undefined) return known
    const selected = columns.filter(
      ({ isTwin, header }) => (hasTwins || !isTwin) && (selection === null || selection.has(header)),
    )
    bySelection.set(selection ?? columns, selected)
    return selected
  }

  return {
    // RFC 4180 §3.
    contentType: (mediaType) => `${mediaType}; charset=utf-8; header=present`,
    get disposition() {
      return `attachment; filename="${name()}.csv"`
    },
    write: (json, view) => {
      const found = list()
      if (found === null || libraries.csv === null) return null
      return csvOf({ json, member: found.member }, columnsFor(view, found), formulas, libraries.csv)
    },
  }
}

export function rootName(
  title: unknown,
  answer: Shape | undefined,
  collection: string,
  members: readonly string[],
): string {
  if (typeof title === 'string' && isXmlName(title)) return title
  if (answer !== undefined && isList(answer)) return xmlName(collection)
  if (answer !== undefined && members.some((name) => isList(shapeWithin(answer, [name])))) return 'response'
  const one = itemName(collection)
  return xmlName(one === 'item' ? collection : one)
}
