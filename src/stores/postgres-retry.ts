import { isObject } from '../options.js'

const mostAttempts = 10

/** Codes of the errors after which PostgreSQL has changed nothing, and asks for the same again. */
const retryable: ReadonlySet<unknown> = new Set([
  // Serialization failure: with a stricter isolation level than the default, a race is lost.
  '40001',
  // Deadlock: of the statements that wait for each other, PostgreSQL ends one.
  '40P01',
])

/** Runs a statement, and runs it again if PostgreSQL has rolled it back in favour of another one. */
export async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempts === mostAttempts || !isObject(error) || !retryable.has(error.code)) throw error
    }
  }
}
