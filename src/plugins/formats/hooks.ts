import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../convention/contexts.js'
import { hasContent, headerOf, isBytes } from '../../convention/reply.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
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
import { isSchemaObject, type SchemaStore } from '../../schema/json-schema.js'
import { SchemaReader } from '../../schema/reader.js'
import { bodyFor, responseBodies } from '../../schema/responses.js'
import type { Shape } from '../../schema/shape.js'
import { clip } from '../../text.js'
import { memberName } from '../../words/words.js'
import { csvListOf, csvOf, type Formulas, type NoColumns } from './csv.js'
import { type FormatWriter, type Libraries, mediaTypesOf } from './writers.js'
import { isXmlName, itemName, xmlName, xmlOf } from './xml.js'

/** The writers of a route. */
export interface ResponseWriters extends Readonly<Record<Format, FormatWriter>> {
  /** The name of the root element of XML. */
  readonly root: string
  /** Why the route has no CSV, though it declares it. */
  readonly fault: NoColumns | null
}

/** Reads the schemas of a route, once all shared schemas are known. */
export function responseWriters(
  app: FastifyInstance,
  route: RouteOptions & { readonly path: string },
  { produces = [], formulas }: { readonly produces?: readonly Format[]; readonly formulas: Formulas },
  libraries: Libraries,
): ResponseWriters {
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
  const reader = new SchemaReader(app.getSchemas() as SchemaStore, { onUnresolved: () => {} })
  const parts = isSchemaObject(schema) ? reader.read(schema, schema).parts : []
  const title = parts.find((part) => part.title !== undefined)?.title
  const root = typeof title === 'string' && isXmlName(title) ? title : rootName(answer, collection, members)
  const list = produces.includes('csv') ? csvListOf(answer, members) : null
  return {
    root,
    fault: list !== null && 'problem' in list ? list : null,
    xml: {
      parameters: 'charset=utf-8',
      disposition: null,
      write: (json) => (libraries.xml === null ? null : xmlOf(json, root, libraries.xml)),
    },
    csv: {
      // RFC 4180 §3.
      parameters: 'charset=utf-8; header=present',
      disposition: `attachment; filename="${collection}.csv"`,
      write(json, selection, hasTwins) {
        if (list === null || 'problem' in list || libraries.csv === null) return null
        const columns = list.columns.filter(
          ({ isTwin, header }) => (hasTwins || !isTwin) && (selection === null || selection.has(header)),
        )
        return csvOf(json, { ...list, columns }, formulas, libraries.csv)
      },
    },
  }
}

function rootName(answer: Shape | undefined, collection: string, members: readonly string[]): string {
  if (answer !== undefined && isList(answer)) return xmlName(collection)
  if (answer !== undefined && members.some((name) => isList(shapeWithin(answer, [name])))) return 'response'
  const one = itemName(collection)
  return xmlName(one === 'item' ? collection : one)
}

/** What the steps of a route need. */
export interface RouteFormats {
  readonly produces: readonly Format[]
  readonly parameter: string
  writerOf(format: Format): FormatWriter
}

const addAccept = varyMerger(['accept'])

/** Chooses the format, and removes the parameter before the query is validated. */
export function chooseFormat(
  { produces, parameter }: RouteFormats,
  removeParameter: ((request: FastifyRequest) => void) | null = null,
): RequestStep {
  const types = [json, ...produces.map((format) => mediaTypesOf[format][0])]
  return function choose(request) {
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
        refusal: notAcceptable(types, reason),
      }
    }
    removeParameter?.(request)
    if (choice === 'json') return undefined
    const given = `the response would be ${choice.mediaType}`
    return { rule: choice.format, given, change: () => chosenFormat.set(request, choice) }
  }
}

/** Writes a response in the chosen format. */
export function writeFormat(formats: RouteFormats): PayloadStep {
  return function write(request, reply, payload): Effect | readonly Effect[] {
    const vary = { vary: addAccept(headerOf(reply, 'vary')) }
    const chosen = chosenFormat.get(request)
    const { statusCode: status } = reply
    const effect = { rule: 'format', given: '', headers: vary }
    if (chosen === undefined || status >= 400) return effect
    if (status === 304) return { ...effect, headers: { ...vary, ...completeTag(request, reply) } }
    const content = contentIn(chosen, request, reply, payload, formats)
    if (content !== null) {
      return {
        ...effect,
        headers: { ...vary, ...content.headers, ...completeTag(request, reply) },
        ...(reply.hasHeader('content-length') && { change: () => reply.removeHeader('content-length') }),
        payload: content.text,
      }
    }
    if (!hasContent(payload) || isInFormat(reply, chosen)) return effect
    const given = `the response stays ${typeNameOf(reply, payload)}`
    return [effect, { rule: chosen.format, given, notice: 'each rule' }]
  }
}

function contentIn(
  { format, mediaType }: ChosenFormat,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  formats: RouteFormats,
): { readonly text: string; readonly headers: Readonly<Record<string, string>> } | null {
  if (!isBytes(payload) || payload.length === 0 || !isPlainJson(reply)) return null
  const { write, parameters, disposition } = formats.writerOf(format)
  const json = typeof payload === 'string' ? payload : Buffer.from(payload).toString()
  const text = write(json, selectionOf(request) ?? null, writesTwins(request))
  if (text === null) return null
  const headers = { 'content-type': `${mediaType}; ${parameters}` }
  const isNamed = disposition === null || reply.hasHeader('content-disposition')
  return { text, headers: isNamed ? headers : { ...headers, 'content-disposition': disposition } }
}

// Other JSON types have a meaning of their own, such as that of a problem document.
function isPlainJson(reply: FastifyReply): boolean {
  return mediaTypeOf(headerOf(reply, 'content-type')) === json && !reply.hasHeader('content-encoding')
}

function completeTag(request: FastifyRequest, reply: FastifyReply): Readonly<Record<string, string>> {
  const etag = headerOf(reply, 'etag')
  return etag === undefined ? {} : { etag: tagInFormat(request, etag) }
}

// The handler may write the format itself, and a stored response has been written before.
function isInFormat(reply: FastifyReply, { format }: ChosenFormat): boolean {
  return mediaTypesOf[format].includes(mediaTypeOf(headerOf(reply, 'content-type')))
}

function typeNameOf(reply: FastifyReply, payload: unknown): string {
  const type = mediaTypeOf(headerOf(reply, 'content-type')) || 'as it is'
  return isBytes(payload) ? type : `${type}: it is a stream`
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
