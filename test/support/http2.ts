import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { text } from 'node:stream/consumers'
import type { AnyAnswer } from './problem.js'

/** Sends a GET or another request on a session of HTTP/2, with a body in pieces, or with none (`null`). */
export async function askOver(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  pieces: readonly string[] | null = null,
): Promise<AnyAnswer> {
  const stream = session.request(headers, { endStream: pieces === null })
  const answered = once(stream, 'response')
  for (const piece of pieces ?? []) await new Promise((written) => stream.write(piece, written))
  if (pieces !== null) stream.end()
  const [received] = (await answered) as [Record<string, unknown>]
  return { status: Number(received[':status']), headers: received, body: await text(stream) }
}
