import type { Format } from '../../convention/formats.js'
import type { FieldSelection } from '../../convention/selection.js'
import { loadPeer } from '../../load-peer.js'
import { isList, shapeWithin } from '../../schema/field-names.js'
import type { Shape } from '../../schema/shape.js'
import { csvListOf, csvOf, type Formulas, type NoColumns, type StringifyCsv } from './csv.js'
import { builderOptions, isXmlName, itemName, type XmlBuilder, xmlName, xmlOf } from './xml.js'

/** What a request gets of the data. */
interface RequestView {
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
  xml: XmlBuilder | null
  csv: StringifyCsv | null
}

export async function loadLibraries(libraries: Libraries, needed: ReadonlySet<Format>): Promise<void> {
  if (needed.has('xml')) {
    const { XMLBuilder } = await loadPeer('formats', 'fast-xml-parser', () => import('fast-xml-parser'))
    libraries.xml = new XMLBuilder(builderOptions)
  }
  if (needed.has('csv')) {
    const { stringify } = await loadPeer('formats', 'csv-stringify', () => import('csv-stringify/sync'))
    libraries.csv = stringify as StringifyCsv
  }
}

/** What is known of the responses of a route when the app gets ready. */
export interface ResponseFacts {
  readonly produces: readonly Format[]
  /** The last word of the path, in the style of the API's keys. */
  readonly collection: string
  /** Names that the member with the items may have, the likeliest first. */
  readonly members: readonly string[]
  /** The shape of a 200; `undefined` if it cannot be read. */
  readonly answer: Shape | undefined
  /** The title of its schema. */
  readonly title: unknown
}

/** How a route writes its formats. */
export interface ResponseWriters extends Readonly<Record<Format, FormatWriter>> {
  /** The name of the root element. */
  readonly root: string
  /** Why the route has no CSV, though it declares it; `null` if it has. */
  readonly fault: NoColumns | null
}

export function responseWriters(
  facts: ResponseFacts,
  formulas: Formulas,
  libraries: Libraries,
): ResponseWriters {
  const root = rootName(facts)
  const list = facts.produces.includes('csv') ? csvListOf(facts.answer, facts.members) : null
  const fault = list !== null && 'problem' in list ? list : null
  const readable = list !== null && 'columns' in list ? list : null
  return {
    root,
    fault,
    xml: {
      contentType: (mediaType) => `${mediaType}; charset=utf-8`,
      disposition: null,
      write: (json) => (libraries.xml === null ? null : xmlOf(json, root, libraries.xml)),
    },
    csv: {
      // RFC 4180 §3.
      contentType: (mediaType) => `${mediaType}; charset=utf-8; header=present`,
      disposition: `attachment; filename="${facts.collection}.csv"`,
      write(json, { selection, hasTwins }) {
        if (readable === null || libraries.csv === null) return null
        const columns = readable.columns.filter(
          ({ isTwin, header }) => (hasTwins || !isTwin) && (selection === null || selection.has(header)),
        )
        return csvOf(json, { ...readable, columns }, formulas, libraries.csv)
      },
    },
  }
}

function rootName({ title, answer, collection, members }: ResponseFacts): string {
  if (typeof title === 'string' && isXmlName(title)) return title
  if (answer !== undefined && isList(answer)) return xmlName(collection)
  if (answer !== undefined && members.some((name) => isList(shapeWithin(answer, [name])))) return 'response'
  const one = itemName(collection)
  return xmlName(one === 'item' ? collection : one)
}
