import type { RouteOptions } from 'fastify'

/** Why no rule looks at a route: what it answers is not this API's JSON. `null` for a route of the API. */
export function reasonToLeaveAlone(route: RouteOptions & { path: string }): string | null {
  if (route.path.includes('*')) return 'a wildcard route: files or a proxy'
  if ('websocket' in route && route.websocket === true) return 'a WebSocket route'
  if (route.schema !== undefined && 'hide' in route.schema && route.schema.hide === true) {
    return 'hidden from the OpenAPI document: not part of the API'
  }
  return null
}
