import type { Format } from '../../convention/selection.js'
import { loadPeer } from '../../load-peer.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { type Content, type DocumentOperation, withQuery } from '../../schema/openapi.js'
import { isObjectSchema } from '../../schema/responses.js'
import type { StringifyCsv } from './csv.js'
import { builderOptions, type XmlBuilder } from './xml.js'

/** `text/xml` is an alias (RFC 7303 §9.2). */
export const mediaTypesOf: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  xml: ['application/xml', 'text/xml'],
  csv: ['text/csv'],
}

export const parametersOf: Readonly<Record<Format, string>> = {
  xml: 'charset=utf-8',
  // RFC 4180 §3.
  csv: 'charset=utf-8; header=present',
}

export interface Libraries {
  xml: XmlBuilder
  csv: StringifyCsv
}

export async function loadLibraries(
  libraries: Partial<Libraries>,
  needed: ReadonlySet<Format>,
): Promise<void> {
  if (needed.has('xml')) {
    const { XMLBuilder } = await loadPeer('formats', 'fast-xml-parser', () => import('fast-xml-parser'))
    libraries.xml = new XMLBuilder(builderOptions)
  }
  if (needed.has('csv')) {
    const { stringify } = await loadPeer('formats', 'csv-stringify', () => import('csv-stringify/sync'))
    libraries.csv = stringify as StringifyCsv
  }
}

export function documentFormats(
  parameter: string,
  formats: readonly Format[],
  rootOf: () => string,
): DocumentOperation {
  const description = 'Format of the response; has precedence over Accept'
  const described = { [parameter]: { type: 'string', enum: ['json', ...formats], description } }
  return (operation) => {
    const root = rootOf()
    const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => {
      const { content } = response
      const isSuccess = /^2(?:\d\d|XX)$/.test(status) && content !== undefined
      return [status, isSuccess ? { ...response, content: withFormats(content, formats, root) } : response]
    })
    return {
      ...withQuery(operation, described),
      responses: Object.fromEntries(responses),
    }
  }
}

export function describeChoice(formats: readonly Format[]): RouteDescription {
  return {
    headers: formats.includes('csv')
      ? { 'Content-Disposition': { type: 'string', description: 'The name of the file, of CSV (RFC 6266)' } }
      : {},
    problems: problemsOf({ 'not-acceptable': 'The route has none of the accepted media types' }),
  }
}

const json = 'application/json'

/** JSON and XML have the same schema, with the root element as the name of XML; CSV is a text. */
function withFormats(content: Content, formats: readonly Format[], root: string): Content {
  const schema = content[json]?.schema
  if (schema === undefined) return content
  const named = isObjectSchema(schema) ? { ...schema, xml: { name: root } } : schema
  const added = formats.flatMap((format) =>
    mediaTypesOf[format].map((mediaType) => [
      mediaType,
      { schema: format === 'csv' ? { type: 'string' } : named },
    ]),
  )
  return { ...content, ...Object.fromEntries(added), ...content }
}
