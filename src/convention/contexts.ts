import type { FastifyInstance, RouteOptions } from 'fastify'

/** Returns what identifies an app: all its contexts have the same `initialConfig`. */
export function appKey(app: FastifyInstance): object {
  return app.initialConfig
}

/** Whether a context is the root of its app: each other context inherits from the context above it. */
export function isRoot(app: FastifyInstance): boolean {
  return !('register' in Object.getPrototypeOf(app))
}

/** Returns the root context of the app of a context. */
export function rootOf(app: FastifyInstance): FastifyInstance {
  return contextsAbove(app).at(-1) as FastifyInstance
}

/** Returns a context, and those above it. */
export function contextsAbove(app: FastifyInstance): FastifyInstance[] {
  return isRoot(app) ? [app] : [app, ...contextsAbove(Object.getPrototypeOf(app) as FastifyInstance)]
}

/** Whether a context is another one, or below it. */
export function isWithin(context: FastifyInstance, app: FastifyInstance): boolean {
  return app === context || Object.prototype.isPrototypeOf.call(app, context)
}

/**
 * Returns a function that recognises the HEAD routes that Fastify adds to GET routes, given all routes in their order. An
 * `onRoute` hook gets them like routes of the app.
 */
export function headSiblings(app: FastifyInstance): (route: RouteOptions & { path: string }) => boolean {
  // Fastify's types leave this option out.
  const { exposeHeadRoutes = true } = app.initialConfig as { readonly exposeHeadRoutes?: boolean }
  const exposed = new Set<string>()
  return function isHeadSibling({ method, path, exposeHeadRoute }) {
    const only = typeof method !== 'string' && method.length === 1 ? method[0] : method
    if (only !== 'HEAD') {
      const exposesHead = exposeHeadRoute ?? exposeHeadRoutes
      // If Fastify adds a HEAD route, the app can declare none afterwards.
      const isRead =
        typeof method === 'string' ? only === 'GET' : method.includes('GET') && !method.includes('HEAD')
      if (isRead && exposesHead) exposed.add(path)
      return false
    }
    // A route at `/` below a prefix has a second form with a slash, for which the hook gets the HEAD route only.
    return exposed.has(path) || (path.endsWith('/') && exposed.has(path.slice(0, -1)))
  }
}
