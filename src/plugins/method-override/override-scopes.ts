import type { FastifyInstance } from 'fastify'
import { appKey } from '../../fastify/internals.js'
import type { RawRequest } from '../../fastify/raw-request.js'
import { pathOf } from '../../http/request-target.js'
import { isBelow } from './is-below.js'
import { type OverrideScope, overridePost } from './override-post.js'

/** The scopes of each app, the nearest first; an app is known by its configuration. */
const scopesOf = new WeakMap<object, OverrideScope[]>()

/**
 * Lets the POSTs below a context's prefix be overridden. A request has to be what it stands for before it is routed, and
 * so before any context is known: as with Fastify's own not-found handlers, the longest prefix decides; of two contexts
 * with the same one, the first.
 */
export function addOverrideScope(app: FastifyInstance, scope: OverrideScope): void {
  const known = scopesOf.get(appKey(app))
  if (known !== undefined) {
    known.push(scope)
    known.sort((one, other) => depthOf(other) - depthOf(one))
    return
  }
  const scopes = [scope]
  scopesOf.set(appKey(app), scopes)
  const strategy = {
    name: 'methodOverride',
    // Nothing is ever derived, so every route matches. What must match is in use without a route that names it.
    mustMatchWhenDerived: true,
    storage: () => ({ get: () => null, set: () => {} }),
    // With three parameters it is an asynchronous strategy.
    deriveConstraint: function overrideMethod(
      raw: RawRequest,
      _context: unknown,
      done: (error: null) => void,
    ) {
      if (raw.method !== 'POST') {
        done(null)
        return
      }
      const found = nearest(scopes, raw)
      if (found === undefined) done(null)
      else overridePost(raw, found, () => done(null))
    },
  }
  // Fastify's types do not know of asynchronous strategies.
  app.addConstraintStrategy(strategy as unknown as Parameters<typeof app.addConstraintStrategy>[0])
}

function nearest(scopes: readonly OverrideScope[], { url = '/' }: RawRequest): OverrideScope | undefined {
  const [first] = scopes
  if (first?.prefix === '') return first
  const path = pathOf(url)
  return scopes.find(({ prefix }) => isBelow(path, prefix))
}

function depthOf({ prefix }: OverrideScope): number {
  return prefix.split('/').length
}
