/** What an error says, in one line; connection errors of several addresses have their text in the parts. */
export function messageOf(error: unknown): string {
  const parts = error instanceof AggregateError ? error.errors : [error]
  const texts = parts.map((part: unknown) => (part instanceof Error ? part.message : String(part)))
  return texts.join('; ').replace(/\s*\n\s*/g, ' ')
}

export function complain(error: unknown): void {
  console.error(`demo server: ${messageOf(error)}`)
}
