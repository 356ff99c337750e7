import crypto from 'node:crypto'
import type { Readable } from 'node:stream'
import { listenAlong } from '../../convention/exchange.js'

export const maxKeyLength = 255

/**
 * Returns the key of a field value: a String of RFC 9651 §3.3.3 without parameters, as the draft says, or the same characters
 * without quotes, as most clients send it; `null` for anything else, such as several field lines, joined by a comma.
 */
export function readKey(fieldValue: string): string | null {
  if (fieldValue.length > 2 * maxKeyLength + 2) return null
  const key = bareKey.test(fieldValue) ? fieldValue : quotedKey.test(fieldValue) ? unquoted(fieldValue) : ''
  return key.length === 0 || key.length > maxKeyLength ? null : key
}

function unquoted(text: string): string {
  const content = text.slice(1, -1)
  return content.includes('\\') ? content.replace(/\\(.)/g, '$1') : content
}

// A class that is repeated is faster than a choice that is made for each character.
const quotedKey = /^"[\x20\x21\x23-\x5b\x5d-\x7e]*(?:\\["\\][\x20\x21\x23-\x5b\x5d-\x7e]*)*"$/
// Visible ASCII but for the characters that separate or quote: " , ; \
const bareKey = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

/** A body that a parser reads. */
export interface ReadBody {
  readonly parts: (string | Uint8Array)[]
  /** Whether all of the body has come. */
  isComplete: boolean
}

export function readAlong(payload: Readable): ReadBody {
  const body: ReadBody = { parts: [], isComplete: false }
  listenAlong(payload, {
    part: (part) => body.parts.push(part),
    end() {
      body.isComplete = true
    },
  })
  return body
}

/** Returns a digest of a request: equal for the same body and the same `rest`, which is JSON. */
export function fingerprintOf(body: ReadBody | undefined, rest: readonly unknown[]): string {
  const parts = (body?.parts ?? []).map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  // JSON has no line break, so that the last one is the end of the body.
  return sha256(Buffer.concat([...parts, Buffer.from(`\n${JSON.stringify([length, ...rest])}`)]))
}

/** Returns credentials in any header field, those of the app's own too. */
export function credentialsOf(headers: Readonly<Record<string, unknown>>): readonly unknown[] {
  const names = Object.keys(headers).filter((name) => credentials.test(name) && !otherwise.test(name))
  return names.sort().map((name) => [name, headers[name]])
}

// Which fields an app authenticates by is not known, so their names tell.
const credentials =
  /auth|cookie|credential|key|passw|secret|session|token|jwt|cert|user|account|tenant|principal|identity|client[-_]?id/
const otherwise = /^:|^sec-|^idempotency-key$|^user-agent$|[cx]srf/

// Node.js 20.12 and later have `crypto.hash`, which costs half as much.
export const sha256: (bytes: string | Uint8Array) => string =
  typeof crypto.hash === 'function'
    ? (bytes) => crypto.hash('sha256', bytes, 'base64url')
    : (bytes) => crypto.createHash('sha256').update(bytes).digest('base64url')
