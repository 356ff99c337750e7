import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload, RouteOptions } from 'fastify'
import { isJson, mediaTypeOf } from '../http/media-types.js'
import { ProblemError } from '../problem/problem-error.js'
import { refuse } from '../problem/send-problem.js'
import type { Reporter } from '../rules/report.js'
import { clip } from '../text.js'
import { type BodyParser, bodyParsers } from './internals.js'
import { listenAlong } from './raw-request.js'
import { addHook } from './route.js'

/** Refuses JSON that is not UTF-8, and content with a coding that no hook of the app decodes. */
export class RequestContent {
  readonly #enforces: (request: FastifyRequest) => boolean
  readonly #contexts = new Set<FastifyInstance>()

  /** @param enforces whether the content of a request is refused here */
  constructor(enforces: (request: FastifyRequest) => boolean) {
    this.#enforces = enforces
  }

  /** Call it from an `onRoute` hook. */
  addRoute(app: FastifyInstance, route: RouteOptions): void {
    this.#contexts.add(app)
    if ([route.method].flat().some((method) => !bodiless.has(method))) {
      addHook(route, 'preParsing', 'problems:content-coding', refuseCoded)
    }
  }

  /** Call it in `onReady`, when all parsers are known. */
  prepare(): void {
    for (const app of this.#contexts) this.#checkUtf8(app)
  }

  /** Gives the parsers of JSON the bytes: in Fastify's string, invalid bytes are already replaced. */
  #checkUtf8(app: FastifyInstance): void {
    const parsers = bodyParsers(app)
    for (const [type, parser] of parsers) {
      if (parser.asString && isJson(mediaTypeOf(type))) parsers.set(type, this.#ofBytes(parser))
    }
  }

  #ofBytes(parser: BodyParser): BodyParser {
    const enforces = this.#enforces
    return {
      ...parser,
      asString: false,
      asBuffer: true,
      fn: function parseUtf8(request, bytes, done) {
        if (isUtf8(bytes as Buffer) || !enforces(request)) return parser.fn(request, String(bytes), done)
        const refusal = notUtf8()
        refusals.add(refusal)
        done(refusal)
        return undefined
      },
    }
  }
}

// A body parser cannot refuse a request itself.
const refusals = new WeakSet<object>()

/** Whether an error is a refusal by a body parser of this module. */
export function isRefusal(thrown: unknown): boolean {
  return typeof thrown === 'object' && thrown !== null && refusals.has(thrown)
}

/** Returns the problem of JSON that is not UTF-8 (RFC 8259 §8.1). */
export function notUtf8(): ProblemError {
  return new ProblemError('body-malformed', { detail: 'The body is not UTF-8, as JSON has to be' })
}

/** Whether the content has a coding other than `identity` (RFC 9110 §8.4). */
export function isCoded({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { 'content-encoding': codings = '' } = headers
  return codings.split(',').some((coding) => !uncoded.has(coding.trim().toLowerCase()))
}

const uncoded: ReadonlySet<string> = new Set(['', 'identity'])
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** The `preParsing` hook. A hook of the app that decodes passes on another stream, or removes the header. */
function refuseCoded(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: RequestPayload,
  next: (error: Error | null, payload?: RequestPayload) => void,
): void {
  if (payload !== request.raw || !isCoded(request)) {
    next(null, payload)
    return
  }
  refuse(request, reply, codedProblem(request), next)
}

function codedProblem(request: FastifyRequest): ProblemError {
  const coding = clip(String(request.headers['content-encoding']), longestShown)
  // RFC 9110 §15.5.16: a 415 for a coding names the supported ones.
  return new ProblemError('unsupported-media-type', {
    detail: `Content-Encoding ${coding} is not supported here`,
    headers: { 'accept-encoding': 'identity' },
  })
}

/** Adds the hook of `report` mode that counts the content which {@link RequestContent} refuses. */
export function countContent(route: RouteOptions, reporter: Reporter): void {
  if ([route.method].flat().every((method) => bodiless.has(method))) return
  addHook(
    route,
    'preParsing',
    'problems:content-coding',
    function countContentOnPreParsing(request, _reply, payload, next) {
      const observe = (refusal: ProblemError): void =>
        reporter.observe('problems', 'content', request, refusal.message, refusal.statusCode)
      if (payload === request.raw && isCoded(request)) observe(codedProblem(request))
      else if (isJson(mediaTypeOf(request.headers['content-type']))) {
        // The parser may have set an encoding, and then hears text that has lost the bytes.
        onceNotUtf8(payload as Readable, () => observe(notUtf8()))
      }
      next(null, payload)
    },
  )
}

/** Calls back if the bytes that a parser reads are not UTF-8. */
function onceNotUtf8(payload: Readable, callback: () => void): void {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let isDone = false
  const read = (part?: string | Uint8Array): void => {
    if (isDone) return
    try {
      if (typeof part === 'string') isDone = part.includes('\u{fffd}')
      else decoder.decode(part, { stream: part !== undefined })
    } catch {
      isDone = true
    }
    if (isDone) callback()
  }
  listenAlong(payload, { part: read, end: () => read() })
}

const longestShown = 100
