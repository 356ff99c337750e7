import { type FetchedText, type FetchSettings, fetchText, jsonOf } from './fetch-json.js'
import { endpointOf, metadataUrls } from './issuer-metadata.js'
import { IssuerRefused, IssuerUnavailable } from './verified-token.js'

/** An endpoint that the metadata of an issuer names. */
type EndpointName = 'jwks_uri' | 'introspection_endpoint'

/** The issuer of the tokens, as the requests to it see it. */
export class Issuer {
  readonly #settings: FetchSettings & { readonly issuer: string; readonly allowHttp: boolean }
  #metadata: unknown

  constructor(settings: FetchSettings & { readonly issuer: string; readonly allowHttp: boolean }) {
    this.#settings = settings
  }

  /** Sends a request to an endpoint, found by the metadata unless its URL is known. */
  async ask(name: EndpointName, known: string | undefined, init?: RequestInit): Promise<unknown> {
    const url = known ?? (await this.#endpoint(name))
    try {
      return jsonOf(url, await fetchText(url, this.#settings, init))
    } catch (error) {
      // An endpoint that refuses one request is still there.
      if (!(error instanceof IssuerRefused) || error.status === 404) this.#metadata = undefined
      throw error
    }
  }

  async #endpoint(name: EndpointName): Promise<string> {
    this.#metadata ??= await this.#discover()
    try {
      return endpointOf(this.#metadata, name, this.#settings)
    } catch (error) {
      this.#metadata = undefined
      throw error
    }
  }

  async #discover(): Promise<unknown> {
    const { issuer } = this.#settings
    for (const url of metadataUrls(issuer)) {
      const fetched: FetchedText = await fetchText(url, this.#settings)
      // An issuer has its metadata at one of the two URLs.
      if (fetched.status < 400 || fetched.status >= 500) return jsonOf(url, fetched)
    }
    throw new IssuerUnavailable(`${issuer} has no metadata: ${metadataUrls(issuer).join(', ')}`)
  }
}
