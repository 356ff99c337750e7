import type { FastifyRequest } from 'fastify'
import { kept } from '../kept.js'

const names = new WeakMap<object, string>()

/**
 * Returns the name of the route of a request in the report: method and path pattern, or `*` if no route serves it. A HEAD
 * route that Fastify adds to a GET route has the name of the GET route.
 */
export function routeNameOf({ routeOptions, server }: FastifyRequest): string {
  const { url, config } = routeOptions
  if (url === undefined) return '*'
  // Fastify builds `routeOptions` anew at each reading.
  return kept(names, config, () => {
    const methods = [routeOptions.method].flat()
    const isOfRead = methods.join() === 'HEAD' && server.hasRoute({ method: 'GET', url })
    return `${isOfRead ? 'GET' : methods.join(', ')} ${url}`
  })
}
