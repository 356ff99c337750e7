import type { FastifyInstance } from 'fastify'
import { rootOf } from './contexts.js'

/** Begins to close an app whose boot fails: what it has opened would keep the process alive. */
export function closeFailedApp(app: FastifyInstance): void {
  rootOf(app)
    .close()
    .then(undefined, (err: unknown) => {
      // The boot has an error already, which is the cause.
      app.log.error({ err }, 'conventions: closing after a failed boot failed')
    })
}

/** Awaits what a convention does at boot. If that fails, the app begins to close. */
export async function closingIfFails(app: FastifyInstance, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    closeFailedApp(app)
    throw error
  }
}
