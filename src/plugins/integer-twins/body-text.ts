import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { listenAlong } from '../../fastify/raw-request.js'
import { quoteLongNumbers } from '../../json/parse-exact.js'

/** The text of a body, of which a parser keeps rounded Numbers. */
export interface BodyText {
  /** `null` where the body is not collected, or has not come yet. */
  text: string | null
  /** Whether bytes came that are not UTF-8. */
  isMalformed: boolean
}

export function collectText(payload: Readable, limit: number, state: BodyText): void {
  const chunks: (string | Uint8Array)[] = []
  let length = 0
  listenAlong(payload, {
    part(chunk) {
      length += chunk.length
      // The parser refuses what is over its limit: no need to keep it.
      if (length <= limit) chunks.push(chunk)
    },
    end() {
      if (length <= limit) readText(chunks, state)
    },
  })
}

const byteOrderMark = '\ufeff'

function readText(chunks: readonly (string | Uint8Array)[], state: BodyText): void {
  const [first] = chunks
  const bytes =
    chunks.length === 1 && Buffer.isBuffer(first)
      ? first
      : Buffer.concat(chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)))
  state.isMalformed = !isUtf8(bytes)
  const text = bytes.toString()
  state.text = text.startsWith(byteOrderMark) ? text.slice(1) : text
}

/** A body with the text of its long numbers; nothing where only the parser of the app takes it for JSON. */
export function writtenAs(text: string): unknown {
  try {
    return JSON.parse(quoteLongNumbers(text))
  } catch {
    return undefined
  }
}
