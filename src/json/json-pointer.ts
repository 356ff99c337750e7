/** The reference token of a JSON Pointer for a member's name (RFC 6901 §3). */
export function pointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The member's name that a reference token of a JSON Pointer stands for (RFC 6901 §4). */
export function nameOfToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
