import type { FastifyRequest } from 'fastify'
import type { Mode } from '../../rules/modes.js'
import { cacheControl } from './cache-control.js'
import { judgeExpires } from './expires.js'
import type { CachedRoute } from './findings.js'
import type { CachingOptions, CachingRouteOptions } from './options.js'
import { withPrivate } from './with-private.js'

/** What tells a version of a resource from every other one: a counter, the time of its last change as the store has it. */
export type ResourceVersion = string | number | bigint

/** What a service knows of a representation without making it (RFC 9110 §8.8). */
export interface RouteValidators {
  /**
   * Entity tag: `W/"v7"` for a weak one, `"v7"` or `v7` for a strong one. Without it and without `version`, a GET is
   * compared by the tag of its bytes once the handler has run, and no `If-Match` of a write holds.
   * @default the `version` in quotes
   */
  readonly etag?: string
  /** When it was last modified; a number is milliseconds since the epoch. */
  readonly lastModified?: Date | number
  /** What the store compares before it writes; comes back as `request.expectedVersion`. */
  readonly version?: ResourceVersion
}

/**
 * Finds the validators of what a request is for, before the handler runs; `null` where there is no such resource,
 * or none that the caller may see. It should cost less than the handler: one row by its key, two columns.
 */
export type FindValidators = (
  request: FastifyRequest,
) => RouteValidators | null | Promise<RouteValidators | null>

/** Reads the validators of a resource out of what a handler returned; `null` where they are not known. */
export type ReadValidators = (answer: object, request: FastifyRequest) => RouteValidators | null | undefined

/** What is done about caching on a route, decided at boot. */
export interface CachingPlan {
  readonly mode: Mode
  /** `Cache-Control` of what is read, without and with credentials; `null` for none. */
  readonly cacheControl: string | null
  readonly privateCacheControl: string | null
  /** May anybody store what is read? */
  readonly isStored: boolean
  /** Whether shared caches may answer several callers with what one got: `public`, `s-maxage` (RFC 9111 §3.5). */
  readonly letsCachesShare: boolean
  /** Does nobody store it, whatever the handler says? */
  readonly confidential: boolean
  /** `Expires`, and the same in milliseconds since the epoch: once it is past, it is not sent. */
  readonly expires: { readonly value: string; readonly at: number } | null
  /** Made from the bytes where nobody gave one. */
  readonly etag: 'strong' | 'weak' | false
  /** Member that says when an item was last modified. */
  readonly lastModified: string | false
  /** Is a 200 without `Last-Modified` told of? */
  readonly tellsMissing: boolean
  readonly validators: FindValidators | null
  readonly validatorsOf: ReadValidators | null
  /** Is a write without a precondition refused? */
  readonly required: boolean
  readonly isAuthenticated: (request: FastifyRequest) => boolean
  readonly now: () => number
}

/** Decides what is done about caching on a route that is not left alone. */
export function planOf(
  { modeOf }: CachedRoute,
  own: CachingRouteOptions,
  options: Required<CachingOptions>,
): CachingPlan {
  const given = own.confidential === true ? { noStore: true } : (own.cacheControl ?? options.cacheControl)
  const written = given === false ? '' : cacheControl(given)
  const isStored = given === false || given.noStore !== true
  const lastModified = own.lastModified ?? options.lastModified
  const judged = own.expires === undefined ? null : judgeExpires(own.expires, options.now())
  const expires = judged !== null && 'value' in judged ? judged.value : null
  return Object.freeze({
    mode: own.mode ?? options.mode,
    cacheControl: written === '' ? null : written,
    privateCacheControl: written === '' ? null : withPrivate(written),
    isStored,
    letsCachesShare: given !== false && (given.public === true || given.sMaxAge !== undefined),
    confidential: own.confidential === true,
    expires: expires === null ? null : { value: expires, at: Date.parse(expires) },
    etag: isStored ? (own.etag ?? options.etag) : false,
    lastModified,
    tellsMissing: lastModified !== false && modeOf['last-modified'] === 'report',
    validators: own.validators ?? null,
    validatorsOf: own.validatorsOf ?? null,
    required: own.preconditions === 'required',
    isAuthenticated: options.isAuthenticated,
    now: options.now,
  })
}
