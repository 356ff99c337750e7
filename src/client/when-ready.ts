import type { WaitOptions } from './options.js'
import { polling } from './polling.js'

/**
 * Requests a download that may not be ready: again while the response is a 202, each time after its `Retry-After`.
 * Resolves with the first other 2xx, or a 303. Its body is not yet read; `signal` and `timeout` do not apply to the body.
 *
 * After a 429, a 5xx or a network error it tries again, as {@link followOperation} does.
 *
 * @throws (the promise rejects) OperationError `attempts-exhausted`, `refused`; the reason of the signal;
 * TypeError if URL or `init` is invalid
 * @example
 * ```js
 * const response = await whenReady('/v1/orders/7/invoice', { signal })
 * const csv = await response.text()
 * ```
 */
export async function whenReady(url: string | URL, options: WaitOptions = {}): Promise<Response> {
  return polling(options).ask(new Request(url, options.init).url, async (response) => {
    if (response.status !== 202) return response
    await response.text()
    return undefined
  })
}
