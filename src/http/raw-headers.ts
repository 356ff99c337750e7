/** Returns the index of the value of a header field; -1 if there is none. */
export function valueIndex(rawHeaders: readonly string[], name: string, from = 0): number {
  for (let index = from; index < rawHeaders.length; index += 2) {
    const one = rawHeaders[index]
    if (one?.length === name.length && one.toLowerCase() === name) return index + 1
  }
  return -1
}

/** Whether there is more than one line of a header field. Parameters as in {@link valueIndex}. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  const first = valueIndex(rawHeaders, name)
  return first !== -1 && valueIndex(rawHeaders, name, first + 1) !== -1
}
