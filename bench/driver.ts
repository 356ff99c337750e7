import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type RawResponse, readResponse } from './response-reader.js'
import type { BenchRequest } from './scenario.js'

/** Keep-alive connections to one server. Each has one request under way at a time. */
export interface Driver {
  /**
   * Sends that many requests, which are taken in turn: as fast as they are answered, or `rate` in a second if the server
   * answers as many.
   */
  readonly send: (total: number, rate?: number | null) => Promise<void>
  /** The same with requests that are made one by one. */
  readonly sendEach: (total: number, make: () => BenchRequest) => Promise<void>
  /** Sends one request and gives its answer. */
  readonly exchange: (request: BenchRequest) => Promise<RawResponse>
  readonly close: () => void
}

interface PreparedRequest {
  readonly method: string
  readonly target: string
  readonly status: number
  readonly bytes: Buffer
}

// Far beyond any answer of a bench server: a run ends with an error rather than never.
const silenceMs = 30_000

/**
 * Connects to a server on the loopback. A response with another status than the request declares, a closed connection
 * and a silent server are errors.
 */
export async function openDriver(
  port: number,
  requests: readonly BenchRequest[],
  connections: number,
): Promise<Driver> {
  const prepared = requests.map(prepare)
  const sockets = Array.from({ length: connections }, () =>
    connect({ host: '127.0.0.1', port, noDelay: true }).setTimeout(silenceMs),
  )
  // An error between two rounds is ignored: the next round finds the connection closed and reports it.
  for (const socket of sockets) socket.on('error', () => undefined)
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return {
    send: (total, rate = null) => {
      const requestAt = (index: number) => prepared[index % prepared.length]
      return rate === null ? sendAll(sockets, total, requestAt) : sendAtRate(sockets, total, requestAt, rate)
    },
    sendEach: (total, make) => sendAll(sockets, total, () => prepare(make())),
    exchange: (request) => exchangeOne(sockets[0], request),
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function sendAll(
  sockets: readonly Socket[],
  total: number,
  requestAt: (index: number) => PreparedRequest | undefined,
) {
  let sent = 0
  const next = () => (sent < total ? requestAt(sent++) : undefined)
  await Promise.all(sockets.map((socket) => converse(socket, next, checkStatus)))
}

async function sendAtRate(
  sockets: readonly Socket[],
  total: number,
  requestAt: (index: number) => PreparedRequest | undefined,
  rate: number,
) {
  const start = performance.now()
  let sent = 0
  const sendInTurn = async (socket: Socket): Promise<void> => {
    while (sent < total) {
      const index = sent++
      const wait = start + (index * 1_000) / rate - performance.now()
      if (wait > 0) await delay(wait)
      const left = [requestAt(index)]
      await converse(socket, () => left.pop(), checkStatus)
    }
  }
  await Promise.all(sockets.map(sendInTurn))
}

async function exchangeOne(socket: Socket | undefined, request: BenchRequest): Promise<RawResponse> {
  if (socket === undefined) throw new Error('the driver has no connection')
  const answers: RawResponse[] = []
  const left = [prepare(request)]
  await converse(
    socket,
    () => left.pop(),
    (_, response) => answers.push(response),
  )
  const [answer] = answers
  if (answer === undefined) throw new Error('the server did not answer')
  return answer
}

/** Asks one connection for what `next` gives, one request after the answer to the one before, until it gives none. */
function converse(
  socket: Socket,
  next: () => PreparedRequest | undefined,
  answered: (request: PreparedRequest, response: RawResponse) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending: Buffer | null = null
    let current = next()
    if (current === undefined) return resolve()
    if (socket.destroyed) return reject(new Error('the server closed the connection between two rounds'))

    function onData(chunk: Buffer): void {
      if (current === undefined) return
      const bytes = pending === null ? chunk : Buffer.concat([pending, chunk])
      try {
        const response = readResponse(bytes, current.method)
        pending = response === null ? bytes : null
        if (response === null) return
        if (response.end < bytes.length) throw new Error('more bytes came than one response has')
        answered(current, response)
      } catch (error) {
        finish(error)
        return
      }
      current = next()
      if (current === undefined) finish()
      else socket.write(current.bytes)
    }
    function onClose(): void {
      finish(new Error(`the server closed the connection during ${current?.method} ${current?.target}`))
    }
    function onTimeout(): void {
      finish(new Error(`no answer to ${current?.method} ${current?.target} within ${silenceMs} ms`))
    }
    function finish(error?: unknown): void {
      socket.off('data', onData).off('close', onClose).off('error', finish).off('timeout', onTimeout)
      if (error === undefined) resolve()
      else reject(error)
    }

    socket.on('data', onData).on('close', onClose).on('error', finish).on('timeout', onTimeout)
    socket.write(current.bytes)
  })
}

function checkStatus(request: PreparedRequest, response: RawResponse): void {
  if (response.status === request.status) return
  throw new Error(`${request.method} ${request.target}: expected ${request.status}, got ${response.status}`)
}

function prepare(request: BenchRequest): PreparedRequest {
  const { method = 'GET', target, headers = {}, body, status = 200 } = request
  const fields = { host: '127.0.0.1', ...headers, ...lengthOf(body) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  const bytes = Buffer.from([`${method} ${target} HTTP/1.1`, ...lines, '', body ?? ''].join('\r\n'))
  return { method, target, status, bytes }
}

function lengthOf(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
}
