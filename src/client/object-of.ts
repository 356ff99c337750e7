/** Returns the object in a JSON text; `undefined` for other texts and other values. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A text that is not JSON is not an object either.
  }
  return value === Object(value) ? (value as Readonly<Record<string, unknown>>) : undefined
}
