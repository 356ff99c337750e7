import type { preHandlerHookHandler, RouteOptions } from 'fastify'

/**
 * Adds a `preHandler` hook that stays the last one of its route, whatever `onRoute` hooks of the app add to it later:
 * what it answers must not overtake an authorization.
 */
export function addLastPreHandler(route: RouteOptions, last: preHandlerHookHandler): void {
  let hooks = [route.preHandler ?? []].flat() as preHandlerHookHandler[]
  Object.defineProperty(route, 'preHandler', {
    configurable: true,
    enumerable: true,
    // Kept, for those who push to what they get.
    get: () => {
      hooks = [...hooks.filter((hook) => hook !== last), last]
      return hooks
    },
    set: (replaced: RouteOptions['preHandler']) => {
      hooks = [replaced ?? []].flat() as preHandlerHookHandler[]
    },
  })
}
