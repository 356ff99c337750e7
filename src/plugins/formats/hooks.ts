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
import { mediaTypeOf, namesType, preferredType } from '../../http/media-types.js'
import { varyMerger } from '../../http/vary.js'
import { isObject } from '../../options.js'
import { notAcceptable, type ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'
import type { FormatWriter } from './writers.js'

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
  formats: RouteFormats,
  removeParameter: ((request: FastifyRequest) => void) | null = null,
): RequestStep {
  return function choose(request) {
    const choice = choiceOf(request, formats)
    if (choice === null) {
      const given = `none of ${mediaTypes(formats).join(', ')}`
      return { rule: 'not-acceptable', given, refusal: notInFormats(request, formats) }
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

function choiceOf(request: FastifyRequest, { produces, parameter }: RouteFormats): Choice {
  const named = parameterOf(request, parameter)
  return named === undefined
    ? formatByAccept(produces, request.headers.accept)
    : formatByName(produces, named)
}

function parameterOf({ query }: FastifyRequest, parameter: string): unknown {
  return isObject(query) && Object.hasOwn(query, parameter) ? query[parameter] : undefined
}

function notInFormats(request: FastifyRequest, formats: RouteFormats): ProblemError {
  const { produces, parameter } = formats
  const named = parameterOf(request, parameter)
  const given =
    typeof named === 'string' ? `${parameter}=${clip(named, maxShown)}` : `a repeated ${parameter}`
  const names = ['json', ...produces].join(', ')
  return notAcceptable(mediaTypes(formats), named === undefined ? '' : `${given} is none of ${names}. `)
}

function mediaTypes({ produces }: RouteFormats): string[] {
  return ['application/json', ...produces.map((format) => mediaTypesOf[format][0])]
}

function contentIn(
  { format, mediaType }: ChosenFormat,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  formats: RouteFormats,
): { readonly text: string; readonly headers: Readonly<Record<string, string>> } | null {
  if (!isBytes(payload) || payload.length === 0 || !isPlainJson(reply)) return null
  const { write, contentType, disposition } = formats.writerOf(format)
  const json = typeof payload === 'string' ? payload : Buffer.from(payload).toString()
  const text = write(json, { selection: selectionOf(request) ?? null, hasTwins: writesTwins(request) })
  if (text === null) return null
  const headers = { 'content-type': contentType(mediaType) }
  const isNamed = disposition === null || reply.hasHeader('content-disposition')
  return { text, headers: isNamed ? headers : { ...headers, 'content-disposition': disposition } }
}

// Other JSON types have a meaning of their own, such as that of a problem document.
function isPlainJson(reply: FastifyReply): boolean {
  return (
    mediaTypeOf(headerOf(reply, 'content-type')) === 'application/json' &&
    !reply.hasHeader('content-encoding')
  )
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

/** `text/xml` is an alias (RFC 7303 §9.2). */
export const mediaTypesOf: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  xml: ['application/xml', 'text/xml'],
  csv: ['text/csv'],
}

/** The format that a request gets: one of those besides JSON, `'json'`, or `null` if it accepts none. */
export type Choice = ChosenFormat | 'json' | null

const json = 'application/json'

/** Returns the format that the query parameter names. */
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
