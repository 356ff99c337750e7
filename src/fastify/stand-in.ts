import type { FastifyInstance } from 'fastify'

/**
 * A stand-in of an app, for setting up a plugin of another package by hand: what is given takes the place of the app's
 * own, all else is the app's. For where what that plugin would hook into every request is wanted in other places only,
 * or as a function to call.
 */
export function standInFor(
  app: FastifyInstance,
  given: Readonly<Record<string, (...args: never[]) => unknown>>,
): FastifyInstance {
  const members = Object.entries(given).map(([name, value]) => [name, { value }])
  return Object.create(app, Object.fromEntries(members)) as FastifyInstance
}
