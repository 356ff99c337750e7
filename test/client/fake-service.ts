import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { until } from '../support/until.js'

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string goes as it is. */
  readonly body?: unknown
}

/** An answer, or what is done with the connection instead. */
export type Turn = Answer | 'cut' | 'silent' | 'half a body'

/** Answers of one path, by turns; the last one stays. Keys are `GET /path`. */
export type Script = Readonly<Record<string, Turn | readonly Turn[]>>

export const locationPath = '/v1/operations/1'
export const statusPath = '/v1/operations/1/status'

/** Headers of a 202 as the contract has them. */
export const acceptedHeaders = {
  location: locationPath,
  'operation-location': statusPath,
  'retry-after': '2',
  'cache-control': 'no-store',
}

export const link = { rel: 'cancel', method: 'DELETE', href: locationPath }
export const running = { body: { status: 'In progress', progress: 0.5, link } }
export const succeeded: Turn = { body: { status: 'Succeeded', result: { sent: true } } }
export const failed: Turn = {
  body: { status: 'Failed', error: { code: 'operation-cancelled', message: 'Cancelled', status: 409 } },
}

/** The answer to the request that starts the operation. */
const started = { id: '1', status: 'In progress' }
export const accepted: Turn = { status: 202, headers: acceptedHeaders, body: started }

/** Serves a script on the loopback interface until the test ends; whatever is not in it is a 404 problem. */
export async function fakeService(t: Test, script: Script) {
  const calls: { method: string; path: string; headers: IncomingHttpHeaders }[] = []
  const turns = new Map(
    Object.entries(script).map(([key, turn]) => [key, Array.isArray(turn) ? [...turn] : [turn]]),
  )
  const server = createServer(({ method = '', url = '', headers }, response) => {
    calls.push({ method, path: url, headers })
    const left = turns.get(`${method} ${url}`) ?? [notFound]
    take(response, (left.length > 1 ? left.shift() : left[0]) ?? notFound)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    /** The calls of a method and path. */
    count: (method: string, path: string) =>
      calls.filter((call) => call.method === method && call.path === path).length,
    /** Resolves when so many calls have come in. */
    called: (times: number) => until(async () => calls.length >= times, Boolean, 15_000, 2),
  }
}

const notFound: Turn = {
  status: 404,
  headers: { 'content-type': 'application/problem+json' },
  body: { title: 'Not found', status: 404, code: 'not-found' },
}

function take(response: ServerResponse, turn: Turn): void {
  if (turn === 'silent') return
  if (turn === 'cut') {
    response.destroy()
    return
  }
  if (turn === 'half a body') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"status":"Suc', () => response.destroy())
    return
  }
  const { status = 200, headers = {}, body } = turn
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}

/** Waits of a client that are over at once, but for the one with the index `held`: that one ends with its signal alone. */
export function countNaps(held?: number) {
  // Milliseconds of each wait, in their order.
  const lengths: number[] = []
  let time = Date.parse('2026-11-20T08:00:00.000Z')
  return {
    lengths,
    now: () => time,
    sleep: async (milliseconds: number, signal: AbortSignal) => {
      lengths.push(milliseconds)
      if (lengths.length - 1 === held) {
        await once(signal, 'abort')
        signal.throwIfAborted()
      }
      time += milliseconds
    },
  }
}
