import { OperationError, refusal } from './operation-state.js'

/** The options of `fetch` that the caller may set: `headers`, `credentials` and so on. */
export type RequestSettings = Omit<RequestInit, 'body' | 'method' | 'redirect' | 'signal'>

/** Options of {@link whenReady}, and of {@link followOperation} too. */
export interface WaitOptions {
  /**
   * Aborts waits and requests; promises reject with its reason. The operation on the server is not cancelled.
   * @default none
   */
  readonly signal?: AbortSignal | undefined
  /**
   * Maximum number of requests, failed ones included.
   * @default 240
   */
  readonly maxAttempts?: number | undefined
  /**
   * Milliseconds between two requests if there is no `Retry-After`; limited to 1,000 to 60,000.
   * @default 5_000
   */
  readonly interval?: number | undefined
  /**
   * Maximum time of a request and of reading its status document, in milliseconds. A request that takes longer fails.
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /**
   * Options of each request: `headers`, `credentials` and so on.
   * @default none
   */
  readonly init?: RequestSettings | undefined
  /**
   * Sends the requests; has to support `redirect: 'manual'` and `signal`.
   * @default globalThis.fetch
   */
  readonly fetch?: typeof globalThis.fetch | undefined
  /**
   * Returns milliseconds since the epoch. For tests.
   * @default Date.now
   */
  readonly now?: (() => number) | undefined
  /**
   * Waits between requests: resolves after the given milliseconds, rejects when its signal aborts. For tests.
   * @default a function that uses setTimeout
   */
  readonly sleep?: Sleep | undefined
}

/** Resolves after the given milliseconds; rejects with the reason of `signal` when that aborts. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>

/** A {@link Sleep} with `setTimeout`; it keeps the process alive. */
const sleepByTimer: Sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

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

/** Sends requests at intervals, one at a time, up to a maximum number. */
export function polling(options: WaitOptions, start?: Response) {
  const { signal, maxAttempts = 240, interval = 5_000, now = Date.now, sleep = sleepByTimer } = options
  let attempts = 0
  let wait = 0
  let current: AbortController | undefined
  const abort = (): void => current?.abort()

  /** Sets the next wait from a response. Returns whether it is a fault of the service, and not of the request. */
  function setWait({ status, headers }: Response): boolean {
    const isFault = status === 429 || status > 499
    wait = bounded(waitAfter(headers, interval, now()), isFault ? longestStop : longestInterval)
    return isFault
  }

  if (start) setWait(start)

  return {
    setWait,
    /** Waits, and sends requests until `read` returns a value for a 2xx or a 303. */
    async ask<T>(url: string, read: ReadResponse<T | undefined>): Promise<T> {
      let fault: unknown
      signal?.addEventListener('abort', abort)
      try {
        for (;;) {
          signal?.throwIfAborted()
          // The negation also stops at a maximum that is not a number.
          if (!(attempts++ < maxAttempts)) {
            throw new OperationError('attempts-exhausted', maxAttempts, { cause: fault })
          }
          const request = new AbortController()
          current = request
          try {
            if (wait) await sleep(wait, request.signal)
            wait = bounded(interval, longestInterval)
            const outcome = await send(options, request, url, 'GET', async (response) => {
              const isFault = setWait(response)
              if (response.ok || response.status === 303) return read(response)
              fault = await refusal(response)
              if (isFault) return
              throw fault
            })
            if (outcome) return outcome
          } catch (error) {
            if (error instanceof OperationError) throw error
            fault = error
          }
        }
      } finally {
        // The signal may outlive many operations.
        signal?.removeEventListener('abort', abort)
      }
    },
    /** Makes the current wait, or else the next one, as short as possible. */
    hasten() {
      wait = shortestWait
      abort()
    },
  }
}

/** The minimum wait, in milliseconds. */
export const shortestWait = 1_000

/** The maximum interval between two polls, in milliseconds. */
const longestInterval = 60_000

/** The maximum wait after a 503 or a 429, in milliseconds. */
export const longestStop = 3_600_000

/** A date is compared with the `Date` of the response if it has one, because the clock of a client may be wrong. */
export function waitAfter(headers: Headers, otherwise: number, now: number): number {
  const stated = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(stated)) return Number(stated) * 1000
  const until = timeOf(stated)
  return until ? until - (timeOf(headers.get('date')) || now) : otherwise
}

/** Limits a wait to its bounds. A value that is not a number becomes the minimum. */
export function bounded(wait: number, longest: number): number {
  return wait > shortestWait ? Math.min(wait, longest) : shortestWait
}

/** Returns the time of an IMF-fixdate; 0 for any other text. */
function timeOf(text: string | null): number {
  const time = Date.parse(text ?? '')
  // ECMAScript specifies that format for toUTCString.
  return new Date(time).toUTCString() === text ? time : 0
}

/** Reads a response. */
export type ReadResponse<T> = (response: Response) => Promise<T>

/** Sends a request that does not follow redirects, and reads its response, within the `timeout`. */
export function send<T>(
  { fetch: call = fetch, init, timeout }: WaitOptions,
  request: AbortController,
  url: string,
  method: string,
  read: ReadResponse<T>,
): Promise<T> {
  const settings = { ...init, method, redirect: 'manual', signal: request.signal } as const
  return inTime(request, timeout, async () => read(await call(url, settings)))
}

/** Awaits a part of a request; aborts the request with an Error `timeout` after a number of milliseconds. */
async function inTime<T>(request: AbortController, milliseconds = 30_000, run: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => request.abort(new Error('timeout')), milliseconds)
  try {
    return await run()
  } finally {
    clearTimeout(timer)
  }
}
