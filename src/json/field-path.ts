/**
 * The names of a dot path. A backslash takes the character after it for part of a name: `a\.b` is the field `a.b`,
 * `\*` the field `*`.
 */
export function splitPath(path: string): string[] {
  const names = splitUnescaped(path, '.')
  return path.includes('\\') ? names.map((name) => name.replace(/\\(.)/gs, '$1')) : names
}

/** The dot path of names, with a backslash before what would be read as something else. */
export function joinPath(names: readonly string[]): string {
  const [only] = names
  if (names.length === 1 && only === '*') return '\\*'
  return names.map((name) => (/[\\.,]/.test(name) ? name.replace(/[\\.,]/g, '\\$&') : name)).join('.')
}

/** The parts of a text between separators that no backslash stands before. Takes time linear in its length. */
export function splitUnescaped(text: string, separator: '.' | ','): string[] {
  if (!text.includes('\\')) return text.split(separator)
  const parts: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === separator) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)]
}
