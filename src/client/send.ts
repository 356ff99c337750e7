import type { WaitOptions } from './options.js'

/** Reads a response. */
export type ReadAnswer<T> = (response: Response) => Promise<T>

/**
 * Sends a request that does not follow redirects, and reads its response, within the `timeout`.
 *
 * @throws the error of `fetch` or of `read`; Error `timeout`
 */
export async function send<T>(
  { fetch: call = fetch, init, timeout = 30_000 }: WaitOptions,
  request: AbortController,
  url: string,
  method: string,
  read: ReadAnswer<T>,
): Promise<T> {
  const timer = setTimeout(() => request.abort(new Error('timeout')), timeout)
  try {
    return await read(await call(url, { ...init, method, redirect: 'manual', signal: request.signal }))
  } finally {
    clearTimeout(timer)
  }
}
