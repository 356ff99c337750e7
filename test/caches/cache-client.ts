import { type Dispatcher, fetch } from 'undici'

/** A cache in front of a service. */
export interface Cache {
  call(path: string, sent?: Sent): Promise<CacheAnswer>
}

/** What goes along with a request; a body is sent as JSON. */
export interface Sent {
  /** @default 'GET' */
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: object
}

/** What came back through a cache. */
export interface CacheAnswer {
  readonly status: number
  readonly headers: Pick<Headers, 'get' | 'has'>
  /** The `text` of an item, or of a greeting; `undefined` where there is no body. */
  readonly text: string | undefined
}

/** The cache that a dispatcher leads to, or is. */
export function cacheThrough(dispatcher: Dispatcher, origin: string): Cache {
  return {
    async call(path, { method = 'GET', headers = {}, body } = {}) {
      const response = await fetch(origin + path, {
        method,
        dispatcher,
        headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      })
      const received = await response.text()
      const { text } = (received === '' ? {} : JSON.parse(received)) as { text?: string }
      return { status: response.status, headers: response.headers, text }
    },
  }
}
