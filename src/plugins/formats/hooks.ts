import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../convention/contexts.js'
import { hasContent, headerOf, isBytes } from '../../convention/exchange.js'
import { jsonSchemasOf, readerOf } from '../../convention/route-schemas.js'
import {
  type ChosenFormat,
  chosenFormat,
  type Format,
  selectionOf,
  tagInFormat,
} from '../../convention/selection.js'
import { RouteSerialization, writesTwins } from '../../convention/serialization.js'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { varyMerger } from '../../http/header-fields.js'
import { mediaTypeOf, namesType, preferredType } from '../../http/media-types.js'
import { isObject } from '../../options.js'
import { notAcceptable } from '../../problem/problem-error.js'
import { isList, shapeWithin } from '../../schema/field-names.js'
import { isSchemaObject } from '../../schema/json-schema.js'
import { bodyFor, responseBodies } from '../../schema/responses.js'
import type { Shape } from '../../schema/shape.js'
import { clip } from '../../text.js'
import { memberName } from '../../words/words.js'
import { csvListOf, csvOf, type Formulas } from './csv.js'
import { type Libraries, mediaTypesOf, parametersOf } from './writers.js'
import { isXmlName, itemName, xmlName, xmlOf } from './xml.js'

export interface RouteFormats {
  readonly produces: readonly Format[]
  readonly parameter: string
  writer(): ResponseWriter
}

export type ResponseWriter = ReturnType<typeof responseWriter>

/** Reads the schemas of a route, once all shared schemas are known. */
export function responseWriter(
  app: FastifyInstance,
  route: RouteOptions & { readonly path: string },
  { produces = [], formulas }: { readonly produces?: readonly Format[]; readonly formulas: Formulas },
  libraries: Partial<Libraries>,
) {
  const { response } = jsonSchemasOf(route) ?? {}
  const serialization = new RouteSerialization(app, route, response)
  // The serialization is only read here: twins have columns of their own.
  serialization.twins = true
  serialization.prepare()
  const answer = serialization.shapesOf([200])[0]
  const { lists } = route.config ?? {}
  const collection = memberName(route.path, keyStyleOf(app))
  const members = [...(isObject(lists) && typeof lists.member === 'string' ? [lists.member] : []), collection]
  const schema = bodyFor(responseBodies(response), 200)?.schema
  const reader = readerOf(app)
  const parts = isSchemaObject(schema) ? reader.read(reader.absolute(schema)).parts : []
  const title = parts.find((part) => part.title !== undefined)?.title
  const root = typeof title === 'string' && isXmlName(title) ? title : rootName(answer, collection, members)
  const list = produces.includes('csv') ? csvListOf(answer, members) : null
  return {
    root,
    fileName: `${collection}.csv`,
    /** Why the route has no CSV, though it declares it. */
    fault: list !== null && 'problem' in list ? list : null,
    /** Returns the content; `null` if the JSON cannot be written in the format. */
    write(format: Format, json: string, request: FastifyRequest): string | null {
      const { xml, csv } = libraries
      if (format === 'xml') return xml === undefined ? null : xmlOf(json, root, xml)
      if (list === null || 'problem' in list || csv === undefined) return null
      const selection = selectionOf(request) ?? null
      const hasTwins = writesTwins(request)
      const columns = list.columns.filter(
        ({ isTwin, header }) => (hasTwins || !isTwin) && (selection === null || selection.has(header)),
      )
      return csvOf(json, { ...list, columns }, formulas, csv)
    },
  }
}

function rootName(answer: Shape | undefined, collection: string, members: readonly string[]): string {
  if (answer !== undefined && isList(answer)) return xmlName(collection)
  if (answer !== undefined && members.some((name) => isList(shapeWithin(answer, [name])))) return 'response'
  const one = itemName(collection)
  return xmlName(one === 'item' ? collection : one)
}

const addAccept = varyMerger('accept')

/** Chooses the format, and removes the parameter before the query is validated. */
export function chooseFormat(
  { produces, parameter }: RouteFormats,
  removeParameter: ((request: FastifyRequest) => void) | null = null,
): RequestStep {
  const types = [json, ...produces.map((format) => mediaTypesOf[format][0])]
  return function choose(request, reply) {
    const { query } = request
    const named = isObject(query) && Object.hasOwn(query, parameter) ? query[parameter] : undefined
    const choice =
      named === undefined ? formatByAccept(produces, request.headers.accept) : formatByName(produces, named)
    if (choice === null) {
      const shown =
        typeof named === 'string' ? `${parameter}=${clip(named, maxShown)}` : `a repeated ${parameter}`
      const reason = named === undefined ? '' : `${shown} is none of ${['json', ...produces].join(', ')}. `
      return {
        rule: 'not-acceptable',
        given: `none of ${types.join(', ')}`,
        refusal: notAcceptable(types, headerOf(reply, 'vary'), reason),
      }
    }
    removeParameter?.(request)
    if (choice === 'json') return undefined
    const given = `the response would be ${choice.mediaType}`
    return { rule: choice.format, given, change: () => chosenFormat.set(request, choice) }
  }
}

export function writeFormat({ writer }: RouteFormats): PayloadStep {
  return function write(request, reply, payload): Effect | readonly Effect[] {
    const effect = { rule: 'format' }
    const headers: Record<string, string> = { vary: addAccept(headerOf(reply, 'vary')) }
    const chosen = chosenFormat.get(request)
    if (chosen === undefined || reply.statusCode >= 400) return { ...effect, headers }
    const etag = headerOf(reply, 'etag')
    const ofFormat = etag === undefined ? headers : { ...headers, etag: tagInFormat(request, etag) }
    if (reply.statusCode === 304) return { ...effect, headers: ofFormat }
    const { format, mediaType } = chosen
    const type = mediaTypeOf(headerOf(reply, 'content-type'))
    // Other JSON types have a meaning of their own, such as that of a problem document.
    if (isBytes(payload) && payload.length > 0 && type === json && !reply.hasHeader('content-encoding')) {
      const { fileName, write } = writer()
      const text = write(format, typeof payload === 'string' ? payload : `${Buffer.from(payload)}`, request)
      if (text !== null) {
        const isFile = format === 'csv' && !reply.hasHeader('content-disposition')
        const file = isFile && { 'content-disposition': `attachment; filename="${fileName}"` }
        return {
          ...effect,
          headers: { ...ofFormat, 'content-type': `${mediaType}; ${parametersOf[format]}`, ...file },
          // Fastify corrects Content-Length.
          payload: text,
        }
      }
    }
    // The handler may write the format itself, and a stored response has been written before.
    if (!hasContent(payload) || mediaTypesOf[format].includes(type)) return { ...effect, headers }
    const given = `the response stays ${type || 'as it is'}${isBytes(payload) ? '' : ': it is a stream'}`
    return [
      { ...effect, headers },
      { rule: format, given, notice: 'each rule' },
    ]
  }
}

const maxShown = 100

/** The format that a request gets: one of those besides JSON, `'json'`, or `null` if it accepts none. */
type Choice = ChosenFormat | 'json' | null

const json = 'application/json'

function formatByName(formats: readonly Format[], value: unknown): Choice {
  const format = formats.find((one) => one === value)
  if (format !== undefined) return { format, mediaType: mediaTypesOf[format][0] }
  return value === 'json' ? 'json' : null
}

/** Returns the format that `Accept` prefers (RFC 9110 §12.5.1); of equals JSON, then the order of the route. */
function formatByAccept(formats: readonly Format[], accept: string | undefined): Choice {
  if (accept === undefined || accept === '*/*' || accept === json) return 'json'
  const chosen = formats.flatMap((format) => mediaTypesOf[format].map((mediaType) => ({ format, mediaType })))
  const type = preferredType(accept, [json, ...chosen.map(({ mediaType }) => mediaType)])
  if (type === null) return null
  // The header of a page in a browser prefers XML to JSON only because XHTML is XML.
  const isPage = namesType(accept, 'text/html') && preferredType(accept, [json]) !== null
  return isPage ? 'json' : (chosen.find(({ mediaType }) => mediaType === type) ?? 'json')
}
