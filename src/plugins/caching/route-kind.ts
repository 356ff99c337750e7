import type { FastifyReply, FastifyRequest } from 'fastify'

/** What the methods of a route do: they read (GET, HEAD), they do not, or there are some of each. */
export type RouteKind = 'reads' | 'writes' | 'both'

/** What the methods of a route do. */
export function kindOf(methods: readonly string[]): RouteKind {
  if (methods.every(isRead)) return 'reads'
  return methods.some(isRead) ? 'both' : 'writes'
}

/** The hook for a route out of those for methods that read and for those that do not. */
export function hookFor<Rest extends unknown[]>(
  kind: RouteKind,
  reads: Hook<Rest>,
  writes: Hook<Rest>,
): Hook<Rest> {
  if (kind === 'reads') return reads
  if (kind === 'writes') return writes
  return function cacheByMethod(request, reply, ...rest) {
    if (isRead(request.method)) reads(request, reply, ...rest)
    else writes(request, reply, ...rest)
  }
}

type Hook<Rest extends unknown[]> = (request: FastifyRequest, reply: FastifyReply, ...rest: Rest) => void

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
