import type { WaitOptions } from './options.js'

/** Makes something of an answer. */
export type ReadAnswer<T> = (response: Response) => Promise<T>

/**
 * Sends a request that follows no redirect, and reads its answer, in the time that a request may take.
 *
 * @throws what `fetch` and `read` throw; Error `timeout`
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
