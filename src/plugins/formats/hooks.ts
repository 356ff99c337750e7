import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasContent, headerOf, isBytes } from '../../convention/reply.js'
import {
  type ChosenFormat,
  chosenFormat,
  type Format,
  selectionOf,
  tagInFormat,
} from '../../convention/selection.js'
import { writesTwins } from '../../convention/serialization.js'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { varyMerger } from '../../http/header-fields.js'
import { mediaTypeOf, namesType, preferredType } from '../../http/media-types.js'
import { isObject } from '../../options.js'
import { notAcceptable } from '../../problem/problem-error.js'
import { clip } from '../../text.js'
import { type FormatWriter, mediaTypesOf } from './writers.js'

/** What the steps of a route need. */
export interface RouteFormats {
  readonly produces: readonly Format[]
  /** Name of the query parameter. */
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
export type Choice = ChosenFormat | 'json' | null

const json = 'application/json'

export function formatByName(formats: readonly Format[], value: unknown): Choice {
  const format = formats.find((one) => one === value)
  if (format !== undefined) return { format, mediaType: mediaTypesOf[format][0] }
  return value === 'json' ? 'json' : null
}

/** Returns the format that `Accept` prefers (RFC 9110 §12.5.1); of equals JSON, then the order of the route. */
export function formatByAccept(formats: readonly Format[], accept: string | undefined): Choice {
  if (accept === undefined || accept === '*/*' || accept === json) return 'json'
  const chosen = formats.flatMap((format) => mediaTypesOf[format].map((mediaType) => ({ format, mediaType })))
  const type = preferredType(accept, [json, ...chosen.map(({ mediaType }) => mediaType)])
  if (type === null) return null
  // The header of a page in a browser prefers XML to JSON only because XHTML is XML.
  const isPage = namesType(accept, 'text/html') && preferredType(accept, [json]) !== null
  return isPage ? 'json' : (chosen.find(({ mediaType }) => mediaType === type) ?? 'json')
}
