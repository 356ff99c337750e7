/** The headers of a response; a Fastify reply has them. */
export interface ReplyHeaders {
  getHeader(name: string): number | string | string[] | undefined
}

/** Returns a header of a reply as text. */
export function headerOf(reply: ReplyHeaders, name: string): string | undefined {
  const value = reply.getHeader(name)
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
