/**
 * Returns the members of a list header field (RFC 9110 §5.6.1), trimmed, without the empty ones. A comma in a quoted
 * string (§5.6.4) does not separate members. A quoted string that is not closed ends with the field.
 */
export function listMembers(fieldValue: string): string[] {
  return splitUnquoted(fieldValue, ',').filter((member) => member !== '')
}

/**
 * Returns the parts of a list member, trimmed: its value, then its parameters (RFC 9110 §5.6.6). A semicolon in a
 * quoted string does not separate parts.
 */
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
