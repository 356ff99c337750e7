import type { RouteOptions } from 'fastify'

/**
 * Tells the HEAD routes that Fastify adds to GET routes from those of the app, given all routes in their order: what is
 * wrong with the one has been said of the other.
 */
export function headSiblings(): (route: RouteOptions & { path: string }) => boolean {
  const readable = new Set<string>()
  return function isHeadSibling({ method, path }) {
    const methods = [method].flat()
    if (methods.includes('GET')) readable.add(path)
    if (methods.length !== 1 || methods[0] !== 'HEAD') return false
    // A route at `/` below a prefix has a second form with the slash, of which only the HEAD route is told.
    return readable.has(path) || (path.endsWith('/') && readable.has(path.slice(0, -1)))
  }
}
