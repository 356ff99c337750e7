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

const keyStyle = appSlot<KeyStyle>('keyStyle')

/** Sets the key style of a context and of those below it. */
export function declareKeyStyle(app: FastifyInstance, style: KeyStyle): void {
  keyStyle.set(app, style)
}

/** Returns the key style of a context: its own, that of a context above it, or snake_case. */
export function keyStyleOf(app: FastifyInstance): KeyStyle {
  return keyStyle.get(app) ?? 'snake_case'
}

/** Returns the prefix of a context up to a major version in it: `/api` for `/api`, `/api/v1` and `/api/v1/admin`. */
export function basePathOf({ prefix }: FastifyInstance): string {
  return prefix.replace(/\/v[0-9]+(?=\/|$).*|\/+$/, '')
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

const signal = appSlot<MaintenanceSignal>('maintenanceSignal')

/** Sets the signal of a context and of those below it. */
export function declareMaintenance(app: FastifyInstance, own: MaintenanceSignal): void {
  signal.set(app, own)
}

/** Returns the signal of a context: its own, or that of the closest context above it. */
export function maintenanceOf(app: FastifyInstance): MaintenanceSignal | null {
  return signal.get(app) ?? null
}
