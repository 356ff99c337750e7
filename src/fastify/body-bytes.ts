import type { Readable } from 'node:stream'

/** What {@link listenAlong} calls. */
export interface BodyListener {
  /** Called with each part of the body: bytes, or text if the parser has set an encoding. */
  part(part: string | Uint8Array): void
  /** Called when all of the body has come. */
  end(): void
}

/** Listens to a body while a parser reads it. */
export function listenAlong(payload: Readable, listener: BodyListener): void {
  let isListening = false
  payload.on('newListener', function listenWithParser(event) {
    // Another listener of this kind makes the stream emit the event again, from within.
    if (event !== 'data' || isListening) return
    isListening = true
    payload.removeListener('newListener', listenWithParser)
    payload.on('data', (part: string | Uint8Array) => listener.part(part))
    payload.on('end', () => listener.end())
  })
}
