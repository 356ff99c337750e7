import type { FastifyInstance, RouteOptions } from 'fastify'

/**
 * Tells the HEAD routes that Fastify adds to GET routes from those of the app, given all routes in their order: what is
 * wrong with the one has been said of the other.
 */
export function headSiblings(app: FastifyInstance): (route: RouteOptions & { path: string }) => boolean {
  // Fastify's types leave this option out.
  const { exposeHeadRoutes = true } = app.initialConfig as { readonly exposeHeadRoutes?: boolean }
  const exposed = new Set<string>()
  return function isHeadSibling({ method, path, exposeHeadRoute }) {
    const methods = [method].flat()
    const exposesHead = exposeHeadRoute ?? exposeHeadRoutes
    // Where Fastify adds a HEAD route, the app can declare none afterwards.
    if (methods.includes('GET') && !methods.includes('HEAD') && exposesHead) exposed.add(path)
    if (methods.length !== 1 || methods[0] !== 'HEAD') return false
    // A route at `/` below a prefix has a second form with the slash, of which only the HEAD route is told.
    return exposed.has(path) || (path.endsWith('/') && exposed.has(path.slice(0, -1)))
  }
}
