import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { type ChosenFormat, chosenFormat, tagInFormat } from '../../fastify/formats.js'
import { forgetMediaType } from '../../fastify/internals.js'
import { hasContent, headerOf, isBytes } from '../../fastify/reply.js'
import { selectionOf } from '../../fastify/selection.js'
import { writesTwins } from '../../fastify/serialization.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { varyMerger } from '../../http/vary.js'
import { isObject } from '../../options.js'
import { isProblemError, notAcceptable, ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'
import { type Choice, mediaTypesOf, type Negotiation } from './negotiation.js'
import type { FormatWriter } from './route-writers.js'

/** What the steps of a route need. */
export interface RouteFormats {
  readonly negotiation: Negotiation
  /** Name of the query parameter. */
  readonly parameter: string
  writerOf(format: ChosenFormat['format']): FormatWriter
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
      const given = `none of ${formats.negotiation.mediaTypes.join(', ')}`
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

function choiceOf(request: FastifyRequest, { negotiation, parameter }: RouteFormats): Choice {
  const named = parameterOf(request, parameter)
  return named === undefined ? negotiation.byAccept(request.headers.accept) : negotiation.byName(named)
}

function parameterOf({ query }: FastifyRequest, parameter: string): unknown {
  return isObject(query) && Object.hasOwn(query, parameter) ? query[parameter] : undefined
}

function notInFormats(request: FastifyRequest, { negotiation, parameter }: RouteFormats): ProblemError {
  const { mediaTypes, names } = negotiation
  const named = parameterOf(request, parameter)
  const given =
    typeof named === 'string' ? `${parameter}=${clip(named, maxShown)}` : `a repeated ${parameter}`
  return notAcceptable(mediaTypes, named === undefined ? '' : `${given} is none of ${names.join(', ')}. `)
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

/** Reads a body of XML as JSON; `null` only says that it would be read. */
export function readXml(toJson: ((xml: string) => string) | null): PayloadStep {
  return function readBody(request, _reply, payload) {
    const contentType = request.headers['content-type']
    if (!isXml(contentType)) return undefined
    const effect = { rule: 'body', given: 'the body would be read as XML' }
    if (toJson === null) return { ...effect, change: () => undefined }
    const limit = request.routeOptions.bodyLimit
    const announced = Number(request.headers['content-length'] ?? 0)
    return readBytes(payload as Readable, announced, limit).then((bytes) => {
      const json = bytes === null ? tooLarge(limit) : convert(bytes, contentType, toJson)
      if (typeof json === 'string') return { ...effect, payload: asJson(request, json) }
      const closes = bytes === null && request.raw.httpVersionMajor < 2
      return [
        ...(closes ? [{ ...effect, headers: { connection: 'close' } }] : []),
        { ...effect, refusal: json },
      ]
    })
  }
}

function isXml(contentType: string | undefined): boolean {
  return mediaTypesOf.xml.includes(mediaTypeOf(contentType))
}

const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i

function convert(
  bytes: Buffer,
  contentType: string | undefined,
  toJson: (xml: string) => string,
): string | ProblemError {
  const declared = charset.exec(contentType ?? '')?.[1] ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(declared) || !isUtf8(bytes))
    return new ProblemError('body-malformed', { detail: 'The body is not UTF-8. XML bodies must be UTF-8' })
  try {
    return toJson(bytes.toString())
  } catch (error) {
    if (isProblemError(error)) return error
    throw error
  }
}

function tooLarge(limit: number): ProblemError {
  return new ProblemError('content-too-large', { detail: `The body is larger than ${limit} bytes` })
}

function asJson(request: FastifyRequest, json: string): Readable {
  const bytes = Buffer.from(json)
  const { headers } = request
  const length = headers['content-length'] === undefined ? {} : { 'content-length': String(bytes.length) }
  request.headers = { ...headers, 'content-type': 'application/json', ...length }
  forgetMediaType(request)
  return Readable.from([bytes], { objectMode: false })
}

/** Reads a stream; `null` if it has more bytes than the limit. */
function readBytes(stream: Readable, announced: number, limit: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    if (announced > limit) {
      resolve(null)
      return
    }
    const chunks: Buffer[] = []
    let length = 0
    function stop(): void {
      stream.off('data', take)
      stream.off('end', end)
      stream.off('error', fail)
    }
    function take(chunk: Buffer | string): void {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      length += bytes.length
      chunks.push(bytes)
      if (length <= limit) return
      stop()
      resolve(null)
    }
    function end(): void {
      stop()
      resolve(Buffer.concat(chunks, length))
    }
    function fail(error: Error): void {
      stop()
      reject(error)
    }
    stream.on('data', take)
    stream.on('end', end)
    stream.on('error', fail)
    stream.resume()
  })
}

const maxShown = 100
