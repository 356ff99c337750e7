import type { WaitOptions } from './options.js'
import { polling } from './polling.js'

/**
 * Asks for a download that may not be ready: again while the answer is 202, each time after its `Retry-After`. Resolves
 * with the first 2xx (or 303) that is none, its body unread; neither `signal` nor `timeout` counts for that any more.
 *
 * A 429, a 5xx and a failure of the network are waited out, as {@link followOperation} does.
 *
 * @throws (the promise rejects) OperationError `attempts-exhausted`, `refused`; the reason of the signal;
 * TypeError where no request can be made of URL and `init`
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
