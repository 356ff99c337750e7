/** Whether a payload is text or bytes, and not a stream. */
export function isBytes(payload: unknown): payload is string | Uint8Array {
  return typeof payload === 'string' || payload instanceof Uint8Array
}

export function hasContent(payload: unknown): boolean {
  return payload !== undefined && payload !== null && payload !== ''
}

/** Fastify takes its status and headers after all hooks. */
export function isResponse(payload: unknown): payload is Response {
  // As Fastify does, because there are other implementations than the global one.
  return typeof payload === 'object' && Object.prototype.toString.call(payload) === '[object Response]'
}

export function withHeaders(response: Response, changes: Readonly<Record<string, string>>): Response {
  const { body, status, statusText } = response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(changes)) headers.set(name, value)
  return new Response(body, { status, statusText, headers })
}

/** Ends a stream that will not be sent. */
export function discard(payload: unknown): void {
  if (typeof payload !== 'object' || payload === null) return
  if ('destroy' in payload && typeof payload.destroy === 'function') payload.destroy()
  // The stream is not read, so errors of its end are ignored.
  else if (payload instanceof ReadableStream) payload.cancel().catch(() => undefined)
}
