import type { Readable } from 'node:stream'
import { listenAlong } from '../../convention/raw-request.js'
import { quoteLongNumbers } from '../../json/parse-exact.js'

/** Collects the text of a body, of which a parser keeps rounded Numbers. */
export function collectText(payload: Readable, limit: number, keep: (text: string) => void): void {
  const chunks: Buffer[] = []
  let length = 0
  listenAlong(payload, {
    part(chunk) {
      length += chunk.length
      // The parser refuses what is over its limit: no need to keep it.
      if (length <= limit) chunks.push(Buffer.from(chunk as Uint8Array))
    },
    end() {
      const text = Buffer.concat(chunks).toString()
      if (length <= limit) keep(text.startsWith('\ufeff') ? text.slice(1) : text)
    },
  })
}

/** A body with the text of its long numbers; nothing where only the parser of the app takes it for JSON. */
export function withLongNumbers(text: string): unknown {
  try {
    return JSON.parse(quoteLongNumbers(text))
  } catch {
    return undefined
  }
}

/** A copy of what a validator may convert in place. */
export function copyOf(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1))
  // Instances of classes may be streams.
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one, depth + 1)]))
}

const maxDepth = 500
