import { IssuerRefused, IssuerUnavailable } from './verified-token.js'

/** How the issuer is asked. */
export interface FetchSettings {
  readonly fetch: typeof fetch
  /** Milliseconds. */
  readonly timeout: number
}

/** A response of the issuer; `text` is `null` for other statuses than 200. */
export interface FetchedText {
  readonly status: number
  readonly text: string | null
}

/** Maximum number of bytes of a response. */
const maxBytes = 262_144

/** Sends a request to the issuer and reads the response, up to 256 KB and within the time limit. */
export async function fetchText(
  url: string,
  { fetch, timeout }: FetchSettings,
  init: RequestInit = {},
): Promise<FetchedText> {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeout) })
    const { status, body } = response
    if (status !== 200 || body === null) {
      await body?.cancel()
      return { status, text: null }
    }
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of body) {
      length += (chunk as Uint8Array).byteLength
      if (length > maxBytes) throw new RangeError(`the response has more than ${maxBytes} bytes`)
      chunks.push(chunk as Uint8Array)
    }
    return { status, text: Buffer.concat(chunks).toString('utf8') }
  } catch (cause) {
    throw new IssuerUnavailable(`${url} cannot be read`, { cause })
  }
}

/** Returns a response as JSON. */
export function jsonOf(url: string, { status, text }: FetchedText): unknown {
  if (status >= 400 && status < 500) throw new IssuerRefused(`${url} answered ${status}`, status)
  if (text === null) throw new IssuerUnavailable(`${url} answered ${status}`)
  try {
    return JSON.parse(text)
  } catch {
    // The cause would have a part of the response.
    throw new IssuerUnavailable(`${url} did not answer with JSON`)
  }
}
