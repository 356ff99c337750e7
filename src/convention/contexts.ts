import type { FastifyInstance } from 'fastify'
import type { KeyStyle } from '../words/words.js'
import { appSlot } from './slots.js'

/** Returns what identifies an app: all its contexts have the same `initialConfig`. */
export function appKey(app: FastifyInstance): object {
  return app.initialConfig
}

/** Whether a context is the root of its app: each other context inherits from the context above it. */
export function isRoot(app: FastifyInstance): boolean {
  return !('register' in Object.getPrototypeOf(app))
}

export function rootOf(app: FastifyInstance): FastifyInstance {
  return contextsAbove(app).at(-1) as FastifyInstance
}

export function contextsAbove(app: FastifyInstance): FastifyInstance[] {
  return isRoot(app) ? [app] : [app, ...contextsAbove(Object.getPrototypeOf(app) as FastifyInstance)]
}

export function isWithin(context: FastifyInstance, app: FastifyInstance): boolean {
  return app === context || Object.prototype.isPrototypeOf.call(app, context)
}

export const keyStyle = appSlot<KeyStyle>('keyStyle')

export function keyStyleOf(app: FastifyInstance): KeyStyle {
  return keyStyle.get(app) ?? 'snake_case'
}

/** Returns the prefix of a context up to a major version in it: `/api` for `/api`, `/api/v1` and `/api/v1/admin`. */
export function basePathOf({ prefix }: FastifyInstance): string {
  return prefix.replace(/\/v[0-9]+(?=\/|$).*|\/+$/, '')
}

/** Whether the prefix of a context has a major version in it. */
export function hasVersion({ prefix }: FastifyInstance): boolean {
  return /\/v[0-9]+(?=\/|$)/.test(prefix)
}

/** Whether an app is in maintenance, for plugins that pause their work meanwhile. */
export interface MaintenanceSignal {
  /** Whether there is maintenance now, from any source: `enable()`, a planned window, the file or the shared store. */
  isActive(): boolean
  /**
   * Calls a function when maintenance begins, with `true`, and when it ends, with `false`; not when only its end or its
   * reason changes, and not for the state at the time of this call. The function must not throw.
   * @returns a function that ends the calls
   */
  onChange(listener: (isActive: boolean) => void): () => void
}

export const maintenanceSignal = appSlot<MaintenanceSignal>('maintenanceSignal')
