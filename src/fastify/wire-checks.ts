import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isHostValue, repeatsHost } from '../http/host-field.js'
import { ProblemError } from '../problem/problem-error.js'
import { refuse, sendRawProblem } from '../problem/send-problem.js'
import { rawFieldsOf } from './raw-fields.js'
import { addHook } from './route.js'

/** Field lines that a request may have; Node reads the first 1,000 and drops the others without an error. */
const maxFieldLines = 998

/**
 * Answers the requests that Node answers by itself, or not at all: those with an `Expect` that is not known, and
 * `CONNECT`.
 */
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
    // HTTP/2 has an answer of its own to CONNECT, and its own limit on fields.
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
 * Closes the connection after a request in HTTP/1.0 with `Transfer-Encoding`: a proxy in front may have read another
 * length (RFC 9112 §6.1).
 */
export function closeWhereFramingIsFaulty({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.httpVersionMinor === 0 && raw.httpVersionMajor === 1 && 'transfer-encoding' in raw.headers) {
    reply.header('connection', 'close')
  }
}

/** Returns a function that says why a request is refused for its header section; `null` where it is not. */
export function headerRefusals(): (raw: IncomingMessage) => ProblemError | null {
  let lastHost = ''
  return function headerRefusal({ headers, rawHeaders }) {
    if (rawHeaders.length > 2 * maxFieldLines) {
      const detail = `A request has at most ${maxFieldLines} header fields`
      return new ProblemError('header-fields-too-large', { detail })
    }
    if (repeatsHost(rawHeaders)) {
      return new ProblemError('request-malformed', { detail: 'A request has one Host header' })
    }
    const host = headers.host ?? headers[':authority']
    if (host === undefined || host === lastHost) return null
    if (!isHostValue(String(host))) {
      return new ProblemError('request-malformed', { detail: 'Host is a host, with or without a port' })
    }
    lastHost = String(host)
    return null
  }
}

/**
 * Returns why a request is refused for its `Expect`, of which only `100-continue` is known (RFC 9110 §10.1.1); `null`
 * where it is not. Node has handled `100-continue` by then.
 */
export function expectationRefusal({ raw }: FastifyRequest): ProblemError | null {
  const { expect } = raw.headers
  if (expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect)) return null
  return new ProblemError('expectation-failed', { detail: 'Of Expect, only 100-continue is known' })
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

/** Answers `CONNECT`, which asks for a tunnel: there is none, and so no method that its target allows. */
function refuseConnect(
  app: FastifyInstance,
  { method, url }: IncomingMessage,
  socket: Duplex,
  typeBase: string,
): void {
  const detail = 'This server makes no tunnels'
  const problem = new ProblemError('method-not-allowed', { detail, headers: { allow: '' } })
  app.log.info({ req: { method, url }, res: { statusCode: problem.statusCode } }, problem.message)
  socket.on('error', () => socket.destroy())
  const fields = { ...rawFieldsOf(app, socket), ...problem.headers }
  sendRawProblem(socket, problem, typeBase, fields)
}
