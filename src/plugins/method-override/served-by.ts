import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { RawRequest } from '../../fastify/raw-request.js'
import { pathOf } from '../../http/request-target.js'

/**
 * Returns whether a request's path has a route for one of the methods: what no route serves is refused without waiting
 * for its body. `true` as well where a route has constraints of the app's own, which cannot be asked for here.
 */
export function servedBy(app: FastifyInstance, methods: readonly string[]): (raw: RawRequest) => boolean {
  let hasOwnConstraints = false
  app.addHook('onRoute', function noteConstraints({ constraints }) {
    hasOwnConstraints ||= Object.keys(constraints ?? {}).some((name) => !known.has(name))
  })
  return function isServed({ url = '/', headers }) {
    if (hasOwnConstraints) return true
    const { host, ':authority': authority, 'accept-version': version } = headers
    const constraints = { host: host ?? authority, version }
    const path = pathOf(url) || '/'
    return methods.some(
      (method) => app.findRoute({ method: method as HTTPMethods, url: path, constraints } as Sought) !== null,
    )
  }
}

const known: ReadonlySet<string> = new Set(['host', 'version'])

type Sought = Parameters<FastifyInstance['findRoute']>[0]
