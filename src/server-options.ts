import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { rawFields, runFirstSteps } from './convention/early-answers.js'
import { isFramingFaulty } from './convention/exchange.js'
import { exchangeOn } from './convention/internals.js'
import { fastTicksOption, keepTicksFast } from './fast-ticks.js'
import { type OptionsOf, resolveOptions } from './options.js'
import { type ProblemCode, ProblemError } from './problem/problem-error.js'
import { problemOf } from './problem/problem-of.js'
import {
  defaultStyle,
  logProblem,
  sendProblem,
  sendRawProblem,
  typeBaseOption,
} from './problem/send-problem.js'

/** The options for Fastify that {@link serverOptions} returns. */
export interface ConventionServerOptions {
  /** Answers a malformed URL (400) and an over-long parameter (414), which no hook sees; 503 in maintenance. */
  frameworkErrors(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void
  /** Answers connections without a valid request: a broken request line (400), header overflow (431), a slow request (408). */
  clientErrorHandler(error: Error & { readonly code?: string }, socket: Socket): void
  /** Fastify's own 503 is not a problem document; the plugin `problems` answers instead. */
  readonly return503OnClosing: false
  /** Node's response to a missing `Host` has no body; the plugin `problems` answers instead. */
  readonly http: {
    readonly requireHostHeader: false
    /** Milliseconds between two checks for requests that have timed out. */
    readonly connectionsCheckingInterval: number
  }
  /** Milliseconds within which a whole request has to arrive, body included; then 408. HTTP/2 has no such limit. */
  readonly requestTimeout: number
}

const serverOptionsOptions = {
  /**
   * The prefix of the `type` of a problem; the same as that of the plugin `problems`.
   * @default 'urn:problem-type:fastify-conventions:'
   */
  typeBase: typeBaseOption,
  /**
   * Whether one object of `process.nextTick()` is kept alive for the life of the process. Without it, ticks take five times
   * as long on Node.js 20 to 24 after a garbage collection of the idle process; see `docs/performance.md`. The preset has the
   * same option: an app that uses both turns it off in both.
   * @default true
   */
  fastTicks: fastTicksOption,
}

/** Options of {@link serverOptions}. */
export interface ServerOptions extends OptionsOf<typeof serverOptionsOptions> {}

/**
 * Returns options for the Fastify constructor, for errors that no plugin can answer. Spread them first, then your own:
 *
 * ```ts
 * const app = Fastify({ ...serverOptions(), logger: true })
 * await app.register(conventions)
 * ```
 *
 * With these options a malformed URL, an over-long parameter, a header overflow, a broken request line, a missing `Host`, a
 * request that takes more than 60 seconds to arrive (`requestTimeout`), and one that arrives while the server closes are
 * answered with problems. For a missing `Host` and a closing server the plugin `problems` is needed; without it these
 * requests are served. Over HTTPS Node.js itself answers a missing `Host`.
 *
 * Not with `mode: 'report'`: they change responses at once.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function serverOptions(received?: ServerOptions): ConventionServerOptions {
  const { typeBase, fastTicks } = resolveOptions('serverOptions', received, serverOptionsOptions)
  if (fastTicks) keepTicksFast()
  return {
    frameworkErrors: function answerFrameworkError(error, request, reply) {
      if (isFramingFaulty(request)) reply.header('connection', 'close')
      runFirstSteps(request, reply, (refusal) => {
        const problem = refusal ?? problemOf(error)
        logProblem(reply, problem, refusal ?? error)
        sendProblem(reply, problem, { ...defaultStyle, typeBase })
      })
    },
    clientErrorHandler: function answerClientError(this: FastifyInstance | undefined, error, socket) {
      const { request, response } = exchangeOn(socket)
      // A second response would corrupt the one that is being sent, or follow one that was.
      const isAnswered = response === null ? request?.complete === false : response.headersSent
      if (error.code === 'ECONNRESET' || !socket.writable || isAnswered) {
        socket.destroy(error)
        return
      }
      if (response?.req.complete === true) {
        // A whole request gets its own response; then the connection is closed.
        response.once('close', () => socket.destroy())
        return
      }
      // Fastify calls this function on the app.
      const fields = this === undefined ? undefined : rawFields.get(this)
      const [code, detail] = clientProblems[error.code ?? ''] ?? malformed
      sendRawProblem(
        socket,
        new ProblemError(code, { detail }),
        typeBase,
        fields?.['encrypted' in socket ? 'secure' : 'plain'],
      )
      lingerThenDestroy(socket)
    },
    return503OnClosing: false,
    requestTimeout,
    http: { requireHostHeader: false, connectionsCheckingInterval },
  }
}

/** Milliseconds: enough for a body of 1 MiB at 17 kB/s. Fastify has no limit by default. */
const requestTimeout = 60_000

/** Milliseconds. Node's default is 30,000. */
const connectionsCheckingInterval = 5_000

const clientProblems: Readonly<Record<string, readonly [code: ProblemCode, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request was not received completely in time'],
  HPE_HEADER_OVERFLOW: [
    'header-fields-too-large',
    'The request target and header fields together are larger than this server accepts',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    'content-too-large',
    'The extensions of a chunk are larger than this server accepts',
  ],
}
const malformed = ['request-malformed', 'The received bytes are not an HTTP/1.1 request'] as const

const lingerFor = 1000

// Closing with unread bytes would reset the connection, and the client could lose the response.
function lingerThenDestroy(socket: Socket): void {
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerFor)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
