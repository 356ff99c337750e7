/**
 * A `Link` header with more links behind those that are there (RFC 8288 §3). Adding the same again adds nothing, for an
 * answer may be finished twice, when it fails late.
 *
 * @param current the value so far; several where the header was set so
 */
export function mergeLinks(
  current: string | number | readonly string[] | null | undefined,
  added: string,
): string {
  const before = [current ?? []]
    .flat()
    .map(String)
    .filter((value) => value.trim() !== '')
    .join(', ')
  if (before === '') return added
  return before.includes(added) ? before : `${before}, ${added}`
}
