import { AsyncResource } from 'node:async_hooks'
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type ChosenFormat, chosenFormat, refuseFormat, tagInFormat } from '../../fastify/formats.js'
import { headerOf } from '../../fastify/header-of.js'
import { hookError } from '../../fastify/hook-error.js'
import { forgetMediaType } from '../../fastify/internals.js'
import { hasContent, isBytes } from '../../fastify/payloads.js'
import { addHook } from '../../fastify/route.js'
import { selectionOf } from '../../fastify/selection.js'
import { writesTwins } from '../../fastify/serialization.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { varyMerger } from '../../http/vary.js'
import { isObject } from '../../options.js'
import { notAcceptable } from '../../problem/not-acceptable.js'
import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { clip } from '../../text.js'
import { type Choice, mediaTypesOf, type Negotiation } from './negotiation.js'
import type { FormatWriter } from './route-writers.js'

type Next = (error: Error | null, payload?: unknown) => void

/** What the hooks of a route need. */
export interface RouteFormats {
  readonly negotiation: Negotiation
  /** Name of the query parameter. */
  readonly parameter: string
  writerOf(format: ChosenFormat['format']): FormatWriter
  readonly reporter: Reporter
}

const addAccept = varyMerger(['accept'])

export function addResponseHooks(route: RouteOptions, formats: RouteFormats): void {
  const { reporter } = formats

  // Before other hooks, where the plugin `problems` checks `Accept`.
  refuseFormat.set(route, (request) =>
    choiceOf(request, formats) === null ? notInFormats(request, formats) : null,
  )

  addHook(route, 'preValidation', 'formats', function chooseFormat(request, reply, next) {
    const choice = choiceOf(request, formats)
    if (choice === null) {
      refuse(request, reply, notInFormats(request, formats), next)
      return
    }
    if (choice !== 'json') chosenFormat.set(request, choice)
    next()
  })

  addHook(route, 'onSend', 'formats', function writeFormat(request, reply, payload: unknown, next: Next) {
    reply.header('vary', addAccept(headerOf(reply, 'vary')))
    const chosen = chosenFormat.get(request)
    const { statusCode: status } = reply
    if (chosen === undefined || status >= 400) {
      next(null, payload)
      return
    }
    if (status === 304) {
      completeTag(request, reply)
      next(null, payload)
      return
    }
    let content: string | null
    try {
      content = contentIn(chosen, request, reply, payload, formats)
    } catch (error) {
      next(hookError(error))
      return
    }
    if (content !== null) completeTag(request, reply)
    else if (hasContent(payload) && !isInFormat(reply, chosen))
      reporter.observe(
        'formats',
        chosen.format,
        request,
        `the response stays ${typeNameOf(reply, payload)}`,
        'none',
      )
    next(null, content ?? payload)
  })
}

export function addCountHook(route: RouteOptions, formats: RouteFormats): void {
  const { reporter, negotiation } = formats
  addHook(route, 'preValidation', 'formats', function countFormat(request, _reply, next) {
    const choice = choiceOf(request, formats)
    if (choice === null)
      reporter.observe(
        'formats',
        'not-acceptable',
        request,
        `none of ${negotiation.mediaTypes.join(', ')}`,
        406,
      )
    else if (choice !== 'json')
      reporter.observe(
        'formats',
        choice.format,
        request,
        `the response would be ${choice.mediaType}`,
        'changed',
      )
    next()
  })
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
): string | null {
  if (!isBytes(payload) || payload.length === 0 || !isPlainJson(reply)) return null
  const { write, contentType, disposition } = formats.writerOf(format)
  const json = typeof payload === 'string' ? payload : Buffer.from(payload).toString()
  const view = { selection: selectionOf(request) ?? null, hasTwins: writesTwins(request) }
  const content = write(json, view)
  if (content === null) return null
  reply.header('content-type', contentType(mediaType))
  if (disposition !== null && !reply.hasHeader('content-disposition'))
    reply.header('content-disposition', disposition)
  if (reply.hasHeader('content-length')) reply.removeHeader('content-length')
  return content
}

// Other JSON types have a meaning of their own, such as that of a problem document.
function isPlainJson(reply: FastifyReply): boolean {
  return (
    mediaTypeOf(headerOf(reply, 'content-type')) === 'application/json' &&
    !reply.hasHeader('content-encoding')
  )
}

function completeTag(request: FastifyRequest, reply: FastifyReply): void {
  const etag = headerOf(reply, 'etag')
  if (etag !== undefined) reply.header('etag', tagInFormat(request, etag))
}

// The handler may write the format itself, and a stored response has been written before.
function isInFormat(reply: FastifyReply, { format }: ChosenFormat): boolean {
  return mediaTypesOf[format].includes(mediaTypeOf(headerOf(reply, 'content-type')))
}

function typeNameOf(reply: FastifyReply, payload: unknown): string {
  const type = mediaTypeOf(headerOf(reply, 'content-type')) || 'as it is'
  return isBytes(payload) ? type : `${type}: it is a stream`
}

export function addBodyHook(route: RouteOptions, toJson: (xml: string) => string): void {
  addHook(route, 'preParsing', 'formats', function readXml(request, reply, payload, next) {
    const contentType = request.headers['content-type']
    if (!isXml(contentType)) {
      next(null, payload)
      return
    }
    const limit = request.routeOptions.bodyLimit
    readBytes(payload as Readable, Number(request.headers['content-length'] ?? 0), limit, (error, bytes) => {
      if (error !== null) {
        next(error)
        return
      }
      const json = bytes === null ? tooLarge(limit) : convert(bytes, contentType, toJson)
      if (typeof json === 'string') next(null, asJson(request, json))
      else {
        if (bytes === null && request.raw.httpVersionMajor < 2) reply.header('connection', 'close')
        refuse(request, reply, json, next)
      }
    })
  })
}

export function addBodyCountHook(route: RouteOptions, reporter: Reporter): void {
  addHook(route, 'preParsing', 'formats', function countXml(request, _reply, payload, next) {
    if (isXml(request.headers['content-type']))
      reporter.observe('formats', 'body', request, 'the body would be read as XML', 'changed')
    next(null, payload)
  })
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
    return new ProblemError('body-malformed', { detail: 'The body is not UTF-8, as XML has to be here' })
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
function readBytes(
  stream: Readable,
  announced: number,
  limit: number,
  done: (error: Error | null, bytes: Buffer | null) => void,
): void {
  if (announced > limit) {
    done(null, null)
    return
  }
  const chunks: Buffer[] = []
  let length = 0
  // Events of a stream do not run in the asynchronous context of the request.
  const finish = AsyncResource.bind((error: Error | null, bytes: Buffer | null) => {
    stream.off('data', take)
    stream.off('end', end)
    stream.off('error', fail)
    done(error, bytes)
  })
  function take(chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    length += bytes.length
    if (length > limit) finish(null, null)
    else chunks.push(bytes)
  }
  function end(): void {
    finish(null, Buffer.concat(chunks, length))
  }
  function fail(error: Error): void {
    finish(error, null)
  }
  stream.on('data', take)
  stream.on('end', end)
  stream.on('error', fail)
  stream.resume()
}

const maxShown = 100
