import crypto from 'node:crypto'
import type { BodyListener } from '../../fastify/raw-request.js'

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
  /** Credentials of a caller whose id is not known: the answer to one is not shown to another. */
  readonly credentials: string | null
  /** What the caller may do and see: an answer is not shown to lesser rights. */
  readonly rights: Rights
}

/** What a caller may do and see. */
export interface Rights {
  /** The scopes of the caller, in any order; `null` if they are not known. */
  readonly scopes: readonly string[] | null
  /** The fields of the answer that the caller may see; `null` for all. */
  readonly visible: readonly string[] | null
}

/** Returns a digest of a request: equal for the same request, and different for another one. */
export function fingerprintOf(
  body: readonly (string | Uint8Array)[],
  { method, target, mediaType, credentials, rights: { scopes, visible } }: RequestIdentity,
): string {
  const parts = body.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const rest = JSON.stringify([
    ...[length, method, target, mediaType, credentials],
    ...[scopes?.toSorted() ?? null, visible],
  ])
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

/** Maximum length of a key, in characters. */
export const maxKeyLength = 255

/**
 * Returns the key of a field value of `Idempotency-Key`: a String of RFC 9651 §3.3.3 without parameters, as the draft says,
 * or the same characters without quotes, as most clients send it; `null` for anything else. Values of several field lines
 * arrive joined by a comma, which a key without quotes cannot have.
 */
export function readKey(fieldValue: string): string | null {
  if (fieldValue.length > 2 * maxKeyLength + 2) return null
  const key = bareKey.test(fieldValue) ? fieldValue : textOf(fieldValue)
  return key.length === 0 || key.length > maxKeyLength ? null : key
}

/** Returns the text of a String; nothing for anything else. */
function textOf(string: string): string {
  if (!quotedKey.test(string)) return ''
  const text = string.slice(1, -1)
  return text.includes('\\') ? text.replace(/\\(.)/g, '$1') : text
}

const quotedKey = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/
// Visible ASCII but for the characters that separate or quote: " , ; \
const bareKey = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/
