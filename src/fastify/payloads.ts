/** What an entity tag can be made of: bytes that are there, not a stream. */
export function isBytes(payload: unknown): payload is string | Uint8Array {
  return typeof payload === 'string' || payload instanceof Uint8Array
}

/** Is it a `Response` of the Fetch API, whose status and headers Fastify takes over once all hooks have run? */
export function isResponse(payload: unknown): payload is Response {
  // Told as Fastify tells it: there are other implementations than the global one.
  return typeof payload === 'object' && Object.prototype.toString.call(payload) === '[object Response]'
}

/** Ends a stream that will not be sent. */
export function discard(payload: unknown): void {
  if (typeof payload !== 'object' || payload === null) return
  if ('destroy' in payload && typeof payload.destroy === 'function') payload.destroy()
  // What goes wrong in the end of what nobody reads is of no interest.
  else if (payload instanceof ReadableStream) payload.cancel().catch(() => undefined)
}
