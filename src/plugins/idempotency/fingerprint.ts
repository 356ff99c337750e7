import crypto from 'node:crypto'
import type { BodyListener } from '../../fastify/body-bytes.js'

/** A body that a parser reads. Its parts are in memory until the request runs: a digest of its own costs more than most bodies. */
export class ReadBody implements BodyListener {
  readonly parts: (string | Uint8Array)[] = []
  /** Whether all of the body has come. */
  isComplete = false

  part(part: string | Uint8Array): void {
    this.parts.push(part)
  }

  end(): void {
    this.isComplete = true
  }
}

/** What makes two requests the same, besides their bodies. */
export interface RequestIdentity {
  /** The effective method, after an override. */
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Media type of the body, without parameters. */
  readonly mediaType: string
  /**
   * Credentials of a caller whose id is not known: the answer to one is not shown to another. `null` if the id is known, or if
   * there are none.
   */
  readonly credentials: string | null
}

/** Returns a digest of a request: equal for the same request, and different for another one. */
export function fingerprintOf(
  body: readonly (string | Uint8Array)[],
  { method, target, mediaType, credentials }: RequestIdentity,
): string {
  const parts = body.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const rest = JSON.stringify([length, method, target, mediaType, credentials])
  // JSON has no line break, so that the last one is the end of the body.
  parts.push(Buffer.from(`\n${rest}`))
  return sha256(Buffer.concat(parts))
}

/** Returns the digest of a list of texts under which a store has a key. */
export function storageKey(parts: readonly (string | null)[]): string {
  return sha256(JSON.stringify(parts))
}

// Node.js 20.12 and later have `crypto.hash`, which costs half as much.
const sha256: (bytes: string | Uint8Array) => string =
  typeof crypto.hash === 'function'
    ? (bytes) => crypto.hash('sha256', bytes, 'base64url')
    : (bytes) => crypto.createHash('sha256').update(bytes).digest('base64url')
