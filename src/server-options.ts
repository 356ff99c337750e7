import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { earlyRefusalOf } from './fastify/early-refusal.js'
import { setFrameworkErrorHeaders } from './fastify/framework-error-headers.js'
import { incomingRequest, pendingResponse } from './fastify/internals.js'
import { rawFieldsOf } from './fastify/raw-fields.js'
import { closeWhereFramingIsFaulty } from './fastify/wire-checks.js'
import { type Checks, resolveOptions, text } from './options.js'
import { type ProblemCode, ProblemError } from './problem/problem-error.js'
import { logProblem } from './problem/problem-log.js'
import { problemOf } from './problem/problem-of.js'
import { defaultStyle, sendProblem, sendRawProblem } from './problem/send-problem.js'

/** Options of {@link serverOptions}. */
export interface ServerOptions {
  /**
   * What the `type` of a problem begins with; give the plugin `problems` the same.
   * @default 'urn:problem-type:fastify-conventions:'
   */
  readonly typeBase?: string
}

/** What {@link serverOptions} hands to Fastify. */
export interface ConventionServerOptions {
  /** Answers a malformed URL (400) and an over-long parameter (414), which no hook sees; both 503 in maintenance. */
  frameworkErrors(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void
  /** Answers what is no HTTP request: a broken request line (400), header overflow (431), a slow request (408). */
  clientErrorHandler(error: Error & { readonly code?: string }, socket: Socket): void
  /** Fastify's own 503 is no problem document; the plugin `problems` answers instead. */
  readonly return503OnClosing: false
  /** Node's own answer to a missing Host has no body; the plugin `problems` answers instead. */
  readonly http: {
    readonly requireHostHeader: false
    /** How often Node looks for requests that take too long, in milliseconds. */
    readonly connectionsCheckingInterval: number
  }
  /** Milliseconds within which a request has to arrive whole, body included; 408 after that. HTTP/2 has no such limit. */
  readonly requestTimeout: number
}

const checks: Checks<ServerOptions> = { typeBase: text() }

/**
 * Options for the Fastify constructor, for what no plugin can reach. Spread them first, then your own:
 *
 * ```ts
 * const app = Fastify({ ...serverOptions(), logger: true })
 * await app.register(conventions)
 * ```
 *
 * With them a bad URL, an over-long parameter, a header overflow, a broken request line, a missing Host, a request that
 * takes more than 60 seconds to arrive (`requestTimeout`) and one that comes in while the server closes are answered as problems too. The last two need the plugin `problems`; without
 * it they are served. Over HTTPS a missing Host is still answered by Node itself.
 *
 * Not while you only report: it changes answers at once.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function serverOptions(received?: ServerOptions): ConventionServerOptions {
  const { typeBase } = resolveOptions('serverOptions', received, checks, { typeBase: defaultStyle.typeBase })
  return {
    frameworkErrors: function answerFrameworkError(error, request, reply) {
      const refusal = earlyRefusalOf(request)
      const problem = refusal ?? problemOf(error)
      // A 414 may be stored unless it says otherwise.
      reply.code(problem.statusCode).header('cache-control', 'no-store')
      closeWhereFramingIsFaulty(request, reply)
      setFrameworkErrorHeaders(request, reply, () => {
        // Not where a preflight is answered instead: that is no error.
        logProblem(reply, refusal ?? error, problem)
        sendProblem(reply, problem, { ...defaultStyle, typeBase })
      })
    },
    clientErrorHandler: function answerClientError(this: FastifyInstance | undefined, error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy(error)
        return
      }
      const before = pendingResponse(socket)
      if (before?.headersSent === true) {
        // Bytes of ours would corrupt an answer that is on its way.
        socket.destroy(error)
        return
      }
      if (before?.req.complete === true) {
        // A request that arrived whole gets its own answer, and then nothing more is read.
        before.once('close', () => socket.destroy())
        return
      }
      if (before === null && isAnswered(socket)) {
        socket.destroy(error)
        return
      }
      // Fastify calls it on the app.
      const fields = this === undefined ? {} : rawFieldsOf(this, socket)
      sendRawProblem(socket, clientProblem(error.code), typeBase, fields)
      lingerThenDestroy(socket)
    },
    return503OnClosing: false,
    requestTimeout,
    http: { requireHostHeader: false, connectionsCheckingInterval },
  }
}

/** Milliseconds: a body of 1 MiB at 17 kB/s. Fastify's own default is none, so that a body may take for ever. */
const requestTimeout = 60_000

/** Milliseconds between two looks at what has timed out. Node's own are 30,000. */
const connectionsCheckingInterval = 5_000

const clientProblems: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
  HPE_HEADER_OVERFLOW: 'header-fields-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'content-too-large',
}

const clientDetails: Readonly<Partial<Record<ProblemCode, string>>> = {
  'request-timeout': 'The request did not arrive whole in time',
  'header-fields-too-large':
    'The request target and header fields together are larger than this server takes',
  'content-too-large': 'The extensions of a chunk are larger than this server takes',
  'request-malformed': 'What arrived is not a request in HTTP/1.1',
}

function clientProblem(code: string | undefined): ProblemError {
  const problem = clientProblems[code ?? ''] ?? 'request-malformed'
  return new ProblemError(problem, { detail: clientDetails[problem] ?? '' })
}

/** Whether the request that is still arriving was answered before its end. */
function isAnswered(socket: Socket): boolean {
  return incomingRequest(socket)?.complete === false
}

const lingerFor = 1000

// Closing at once with bytes of the client unread would reset the connection and lose the answer on its way.
function lingerThenDestroy(socket: Socket): void {
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerFor)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
