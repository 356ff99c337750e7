import { isObject } from '../options.js'

/** Checks a store when the app gets ready. The error of a client may name neither the convention nor the store. */
export async function checkStore(plugin: string, check: () => unknown): Promise<void> {
  try {
    await check()
  } catch (cause) {
    throw new Error(`${plugin}: the store cannot be used: ${reasonOf(cause)}`, { cause })
  }
}

/** Node.js gives no message if several addresses of a host refuse a connection. */
export function reasonOf(error: unknown): string {
  return isObject(error) ? String(error.message || error.code) : String(error)
}
