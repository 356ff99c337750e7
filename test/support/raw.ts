import { once } from 'node:events'
import { connect } from 'node:net'

/** One response as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  /** Reason phrase of the status line. */
  readonly reason: string
  /** By name in lowercase; what comes several times is joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A response with the bytes of its content, such as that of a content coding. */
type RawBytes = RawAnswer & { readonly bytes: Buffer }

/** A request in HTTP/1.1 bytes, on a connection that ends with it. */
export function requestBytes(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const fields = Object.entries({ host: 'localhost', connection: 'close', ...headers })
  const isMeasured = 'content-length' in headers || 'transfer-encoding' in headers
  if (body !== '' && !isMeasured) fields.push(['content-length', String(Buffer.byteLength(body))])
  return `${method} ${target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}

/** {@link openConnection}, opened. */
export type RawConnection = Awaited<ReturnType<typeof openConnection>>

/** Opens a connection to a port of the loopback interface, which keeps all that comes in. */
export async function openConnection(port: number) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  let bytes = ''
  let failure: Error | null = null
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    bytes += chunk
  })
  // A reset after the answer is how some servers end a broken request; what came before it counts.
  socket.on('error', (error) => {
    failure = error
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    socket,
    send: (sent: string | Buffer) => void socket.write(sent, 'latin1'),
    /** Waits for the end of the connection and gives all that came in. */
    async ended() {
      await closed
      if (bytes === '' && failure !== null) throw failure
      return bytes
    },
    /** Waits until what came in so far satisfies the condition. */
    received: (isEnough: (bytes: string) => boolean) =>
      new Promise<string>((resolve, reject) => {
        const look = (): void => {
          if (!isEnough(bytes)) return
          socket.off('data', look)
          resolve(bytes)
        }
        socket.on('data', look)
        socket.once('close', () => reject(new Error(`the connection ended after: ${bytes.slice(-200)}`)))
        look()
      }),
  }
}

/** Sends bytes on a connection of their own and gives everything that comes back until it ends. */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const connection = await openConnection(port)
  connection.send(bytes)
  return connection.ended()
}

/** As {@link exchange}, for bytes that are answered once. */
export async function ask(port: number, bytes: string | Buffer): Promise<RawBytes> {
  const received = await exchange(port, bytes)
  const [answer, ...more] = parseAnswers(received)
  if (answer === undefined || more.length > 0) throw new Error(`not one answer: ${JSON.stringify(received)}`)
  return answer
}

/** Takes apart what a connection answered, framed by Content-Length or chunks; throws where it is not HTTP/1.1. */
export function parseAnswers(bytes: string): RawBytes[] {
  const answers: RawBytes[] = []
  for (let rest = bytes; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...fields] = rest.slice(0, end).split('\r\n')
    const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(statusLine) ?? []
    if (end === -1 || status === '') throw new Error(`no answer in HTTP/1.1: ${rest.slice(0, 200)}`)
    const headers = headersOf(fields)
    const { body, length } = bodyOf(headers, rest.slice(end + 4))
    const content = Buffer.from(body, 'latin1')
    if (status !== '100')
      answers.push({ status: Number(status), reason, headers, body: content.toString(), bytes: content })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

function headersOf(fields: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const colon = field.indexOf(':')
    const name = field.slice(0, colon).toLowerCase()
    const value = field.slice(colon + 1).trim()
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return headers
}

function bodyOf(headers: Readonly<Record<string, string>>, rest: string): { body: string; length: number } {
  if (headers['transfer-encoding'] === 'chunked') return chunksOf(rest)
  const length = Math.min(Number(headers['content-length'] ?? 0), rest.length)
  return { body: rest.slice(0, length), length }
}

function chunksOf(rest: string): { body: string; length: number } {
  let body = ''
  for (let at = 0; ; ) {
    const start = rest.indexOf('\r\n', at) + 2
    const size = Number.parseInt(rest.slice(at, start), 16)
    body += rest.slice(start, start + size)
    at = start + size + 2
    if (!(size > 0)) return { body, length: at }
  }
}

/** Bytes of a response without what differs from one response to the next: its date, and the request id in the body. */
export function withoutDate(bytes: string): string {
  return bytes.replace(/\r\ndate: [^\r]+/i, '').replace(/"reqId":"[^"]+"/, '')
}
