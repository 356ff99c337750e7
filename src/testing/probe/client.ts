import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { parseExact } from '../../json/exact-json.js'

/** The part of a Fastify app that probes need. */
export interface ProbedApp {
  ready(): PromiseLike<unknown>
  printRoutes(): string
  inject(request: ProbeRequest): PromiseLike<InjectedResponse>
}

/** A request of a probe. */
export interface ProbeRequest {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string
}

/** A response of Fastify's `inject()`. */
export interface InjectedResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export interface Exchange {
  /** Method and target, and the header fields that are not those of each request. */
  readonly request: string
  readonly status: number
  readonly body: string
  /** The JSON of the body with exact integers; `undefined` for other content. */
  readonly json: unknown
  readonly mediaType: string
  /** Returns the value of a header field; `undefined` if the response has none. */
  header(name: string): string | undefined
}

export type Send = (
  method: string,
  url: string,
  headers?: Readonly<Record<string, string>>,
  payload?: string,
) => Promise<Exchange>

export function sender(app: ProbedApp, common: Readonly<Record<string, string>>): Send {
  return async function send(method, url, own = {}, payload) {
    const headers = { ...common, ...own }
    const given = payload === undefined ? {} : { payload }
    const response = await app.inject({ method, url, headers, ...given })
    if (response.statusCode === 429)
      throw new Error(`${method} ${url}: the quota is used up; give the app under test a larger one`)
    const header = (name: string) => textOf(response.headers[name])
    const mediaType = mediaTypeOf(header('content-type'))
    const fields = Object.entries(own).map(([name, value]) => `, ${name}: ${value}`)
    return {
      request: `${method} ${url}${fields.join('')}`,
      status: response.statusCode,
      body: response.body,
      json: isJson(mediaType) ? jsonOf(response.body) : undefined,
      mediaType,
      header,
    }
  }
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}

function jsonOf(body: string): unknown {
  try {
    return parseExact(body)
  } catch {
    return undefined
  }
}
