import type { FastifyInstance, FastifyRequest } from 'fastify'
import { appSlot, requestSlot, routeSlot } from './slots.js'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Who sends the request. The plugin `bearer` sets it; an app with an authentication of its own may set it in an
     * `onRequest` hook. `null` if the caller is not known; `undefined` if nothing in the app sets it.
     */
    caller?: Caller | null
  }
}

/** Who sends a request. */
export interface Caller {
  /** Id of the user, or of the client that acts for itself: the claim `sub` of a token (RFC 9068 §2.2). */
  readonly subject: string
  /** What the caller may do: the scopes of a token (RFC 6749 §3.3). */
  readonly scopes: readonly string[]
  /** All claims of a token; empty if the app identifies callers in another way. */
  readonly claims: Readonly<Record<string, unknown>>
}

export type CallerId = string | number | bigint

/** Returns the id of a caller as text; `null` for none. */
export function callerIdText(id: unknown, message: string): string | null {
  if (id === null || id === undefined) return null
  const isId =
    typeof id === 'string'
      ? id !== '' && id.isWellFormed()
      : typeof id === 'bigint' || Number.isSafeInteger(id)
  if (!isId) throw new TypeError(`${message}: expected a string, an integer or null`)
  return String(id)
}

/** Whether something in the app sets `request.caller`. Call it when the app gets ready, or later. */
export function hasCallers(app: FastifyInstance): boolean {
  return app.hasRequestDecorator('caller')
}

/** Returns the id of the caller of a request; `null` if the caller is not known. The default of all `identify` options. */
export function subjectOf({ caller }: FastifyRequest): string | null {
  // An app may have a decorator of its own with this name.
  return typeof caller?.subject === 'string' ? caller.subject : null
}

/** Returns the scopes of the caller of a request; `null` if they are not known. */
export function scopesOf({ caller }: FastifyRequest): readonly string[] | null {
  const scopes: unknown = caller?.scopes
  return Array.isArray(scopes) ? scopes.map(String) : null
}

/**
 * The request header fields that identify the caller on a route, such as `authorization`: the response varies by them, and
 * is private. Set by the plugin that authenticates, before `caching` reads it.
 */
export const callerFields = routeSlot<readonly string[]>('caller.fields')

/** The value of `Authorization` whose token was verified, on requests of which a token says who the caller is. */
export const verifiedAuthorization = requestSlot<string>('caller.authorization')

/**
 * Returns the id of the caller of a request if its credentials were verified for an earlier request; `null` otherwise. For
 * hooks that run before the authentication. Set by the plugin that authenticates, if it caches verified credentials.
 */
export const knownSubject = appSlot<(request: FastifyRequest) => string | null>('caller.known')
