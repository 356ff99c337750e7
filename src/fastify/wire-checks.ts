import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isHostValue } from '../http/host-field.js'
import { isRepeated } from '../http/raw-headers.js'
import { ProblemError } from '../problem/problem-error.js'
import { refuse, sendRawProblem } from '../problem/send-problem.js'
import { rawFieldsOf } from './early-answers.js'
import { addHook } from './route.js'

/** Maximum number of field lines of a request. Node reads the first 1,000 and ignores the others. */
const maxFieldLines = 998

/** Answers requests that Node.js does not pass on: those with an unknown `Expect`, and `CONNECT`. */
export function checkWire(app: FastifyInstance, typeBase: string): void {
  app.addHook('onRoute', function refuseExpectationOnRoute(route) {
    addHook(route, 'onRequest', 'problems:expectation', refuseExpectation)
  })

  app.addHook('onReady', function watchServer(done) {
    const { server } = app
    if (server.listenerCount('checkExpectation') === 0) {
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        server.emit('request', request, response)
      })
    }
    // HTTP/2 answers CONNECT itself, and has its own limit on fields.
    if (app.initialConfig.http2 !== true) {
      server.maxHeadersCount ??= 0
      if (server.listenerCount('connect') === 0) {
        server.on('connect', (request: IncomingMessage, socket: Duplex) => {
          refuseConnect(app, request, socket, typeBase)
        })
      }
    }
    done()
  })
}

/**
 * Closes the connection after a request of HTTP/1.0 with `Transfer-Encoding`: a proxy may have read another length (RFC
 * 9112 §6.1).
 */
export function closeWhereFramingIsFaulty({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.httpVersionMinor === 0 && raw.httpVersionMajor === 1 && 'transfer-encoding' in raw.headers) {
    reply.header('connection', 'close')
  }
}

/** Returns a function that returns the problem of an invalid request line or header section; `null` for valid ones. */
export function headerRefusals(): (raw: IncomingMessage) => ProblemError | null {
  let lastHost = ''
  return function headerRefusal({ headers, rawHeaders, httpVersionMajor, method, url = '' }) {
    // Node.js reads HTTP/0.9 and HTTP/2.0 in a request line as HTTP/1; a request that is HTTP/2 has pseudo-header fields.
    if (httpVersionMajor !== 1 && !(':method' in headers)) {
      return new ProblemError('request-malformed', {
        detail: 'The version in a request line must be HTTP/1.1 or HTTP/1.0',
      })
    }
    if (url.startsWith('*') && !(method === 'OPTIONS' && url === '*')) {
      const detail = 'The target * is for OPTIONS alone; other requests have a path'
      return new ProblemError('request-malformed', { detail })
    }
    if (rawHeaders.length > 2 * maxFieldLines) {
      const detail = `A request may have at most ${maxFieldLines} header fields`
      return new ProblemError('header-fields-too-large', { detail })
    }
    if (isRepeated(rawHeaders, 'host')) {
      return new ProblemError('request-malformed', { detail: 'A request must have exactly one Host header' })
    }
    const host = headers.host ?? headers[':authority']
    if (host === undefined || host === lastHost) return null
    if (!isHostValue(String(host))) {
      return new ProblemError('request-malformed', {
        detail: 'The Host header must be a host, with or without a port',
      })
    }
    lastHost = String(host)
    return null
  }
}

/**
 * Returns the problem of an `Expect` other than `100-continue` (RFC 9110 §10.1.1), which Node.js handles; `null` for a
 * valid one.
 */
export function expectationRefusal({ raw }: FastifyRequest): ProblemError | null {
  const { expect } = raw.headers
  if (expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect)) return null
  return new ProblemError('expectation-failed', { detail: 'The only supported expectation is 100-continue' })
}

function refuseExpectation(
  request: FastifyRequest,
  reply: FastifyReply,
  next: (error?: Error) => void,
): void {
  const refusal = expectationRefusal(request)
  if (refusal === null) next()
  else refuse(request, reply, refusal, next)
}

/** Answers `CONNECT` with 405 and an empty `Allow`: there are no tunnels. */
function refuseConnect(
  app: FastifyInstance,
  { method, url }: IncomingMessage,
  socket: Duplex,
  typeBase: string,
): void {
  const detail = 'This server does not open tunnels'
  const problem = new ProblemError('method-not-allowed', { detail, headers: { allow: '' } })
  app.log.info({ req: { method, url }, res: { statusCode: problem.statusCode } }, problem.message)
  socket.on('error', () => socket.destroy())
  const fields = { ...rawFieldsOf(app, socket), ...problem.headers }
  sendRawProblem(socket, problem, typeBase, fields)
}
