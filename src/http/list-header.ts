/** Returns the members of a list header field (RFC 9110 §5.6.1), trimmed, without the empty ones. */
export function listMembers(fieldValue: string): string[] {
  return splitUnquoted(fieldValue, ',').filter((member) => member !== '')
}

// Those of browsers have up to 200 characters.
const longestOfClient = 1000

// Clients choose the length, and 16 kB cost milliseconds: members that end beyond 1000 characters are left out.
export function firstMembers(fieldValue: string): string[] {
  if (fieldValue.length <= longestOfClient) return listMembers(fieldValue)
  return splitUnquoted(fieldValue.slice(0, longestOfClient), ',')
    .slice(0, -1)
    .filter((member) => member !== '')
}

/** Returns the parts of a list member, trimmed: its value, then its parameters (RFC 9110 §5.6.6). */
export function memberParts(member: string): string[] {
  return splitUnquoted(member, ';')
}

/** Returns the name of a directive or parameter, which is the text before `=`, in lowercase. */
export function directiveName(directive: string): string {
  return (directive.split('=', 1)[0] ?? '').trim().toLowerCase()
}

function splitUnquoted(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted && character === '\\') at++
    else if (!isQuoted && character === separator) {
      parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  parts.push(text.slice(start).trim())
  return parts
}
