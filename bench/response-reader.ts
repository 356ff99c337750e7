/** One whole response at the start of some bytes. */
export interface RawResponse {
  readonly status: number
  /** The header section as it came, without the empty line. */
  readonly head: string
  /** As it came: still chunked if it was. */
  readonly body: Buffer
  /** Where the next response starts. */
  readonly end: number
}

const headEnd = Buffer.from('\r\n\r\n')
const chunkedEnd = Buffer.from('0\r\n\r\n')
const statusStart = 'HTTP/1.1 '.length

/**
 * Reads the first response of `bytes`; `null` while it is incomplete. Knows just enough of RFC 9112 §6.3 for a driver
 * on a connection of its own: no body, `Content-Length`, or chunked without trailers.
 *
 * @throws Error when the body has no framing, for it would end with the connection.
 */
export function readResponse(bytes: Buffer, method: string): RawResponse | null {
  const split = bytes.indexOf(headEnd)
  if (split === -1) return null
  const head = bytes.toString('latin1', 0, split)
  const status = Number(head.slice(statusStart, statusStart + 3))
  const start = split + headEnd.length
  const end = bodyEnd(bytes, start, head, hasNoBody(status, method))
  if (end === null || end > bytes.length) return null
  return { status, head, body: bytes.subarray(start, end), end }
}

function hasNoBody(status: number, method: string): boolean {
  return method === 'HEAD' || status === 204 || status === 304 || status < 200
}

function bodyEnd(bytes: Buffer, start: number, head: string, empty: boolean): number | null {
  if (empty) return start
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length !== null) return start + Number(length[1])
  if (!/\r\ntransfer-encoding: *chunked/i.test(head))
    throw new Error('a response has neither a length nor chunks')
  return chunksEnd(bytes, start)
}

function chunksEnd(bytes: Buffer, start: number): number | null {
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (size === 0) {
      const end = at + chunkedEnd.length
      return end > bytes.length ? null : end
    }
    at = line + 2 + size + 2
    if (at > bytes.length) return null
  }
}
