import { isObject } from '../../options.js'
import { isSecure } from './options.js'
import { IssuerRefused, IssuerUnavailable } from './tokens.js'

interface IssuerSettings extends FetchSettings {
  readonly issuer: string
  readonly allowHttp: boolean
}

export class Issuer {
  readonly #settings: IssuerSettings
  #metadata: unknown

  constructor(settings: IssuerSettings) {
    this.#settings = settings
  }

  /** Sends a request to an endpoint, found by the metadata unless its URL is known. */
  async ask(
    name: 'jwks_uri' | 'introspection_endpoint',
    known: string | undefined,
    init?: RequestInit,
  ): Promise<unknown> {
    try {
      if (known === undefined) this.#metadata ??= await this.#discover()
      const url = known ?? endpointOf(this.#metadata, name, this.#settings)
      return jsonOf(url, await fetchText(url, this.#settings, init))
    } catch (error) {
      // An endpoint that refuses one request is still there.
      if (!(error instanceof IssuerRefused) || error.status === 404) this.#metadata = undefined
      throw error
    }
  }

  async #discover(): Promise<unknown> {
    const urls = metadataUrls(this.#settings.issuer)
    for (const url of urls) {
      const fetched = await fetchText(url, this.#settings)
      // An issuer has its metadata at one of the two URLs.
      if (fetched.status < 400 || fetched.status >= 500) return jsonOf(url, fetched)
    }
    throw new IssuerUnavailable(`${this.#settings.issuer} has no metadata: ${urls.join(', ')}`)
  }
}

/** Returns the URLs at which an issuer may have its metadata, in the order in which they are tried. */
function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname, search } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    // RFC 8414 §3.1: between the host and the path.
    `${origin}/.well-known/oauth-authorization-server${path}${search}`,
    // OpenID Connect Discovery 1.0 §4.1: after the path.
    `${origin}${path}/.well-known/openid-configuration${search}`,
  ]
}

function endpointOf(metadata: unknown, name: string, { issuer, allowHttp }: IssuerSettings): string {
  // RFC 8414 §3.3
  if (!isObject(metadata) || metadata.issuer !== issuer)
    throw new IssuerUnavailable(`the metadata of ${issuer} is of another issuer`)
  const { [name]: endpoint } = metadata
  if (typeof endpoint !== 'string' || !isSecure(endpoint, allowHttp))
    throw new IssuerUnavailable(
      `the metadata of ${issuer} has no ${name} that may be used: https is required`,
    )
  return endpoint
}

interface FetchSettings {
  readonly fetch: typeof fetch
  /** Milliseconds. */
  readonly timeout: number
}

/** A response of the issuer; `text` is `null` for other statuses than 200. */
interface FetchedText {
  readonly status: number
  readonly text: string | null
}

const maxBytes = 262_144

async function fetchText(
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

function jsonOf(url: string, { status, text }: FetchedText): unknown {
  if (status >= 400 && status < 500) throw new IssuerRefused(`${url} answered ${status}`, status)
  if (text === null) throw new IssuerUnavailable(`${url} answered ${status}`)
  try {
    return JSON.parse(text)
  } catch {
    // The cause would have a part of the response.
    throw new IssuerUnavailable(`${url} did not answer with JSON`)
  }
}
