/** What did not come in time. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/**
 * Waits for a promise, but not for longer than so many milliseconds.
 *
 * @param what what is late, for the error
 * @throws LateError; the promise goes on, and nobody minds if it rejects later
 */
export async function inTime<Value>(
  promise: Promise<Value>,
  milliseconds: number,
  what: string,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new LateError(`${what} did not come within ${milliseconds} ms`)),
      milliseconds,
    )
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
