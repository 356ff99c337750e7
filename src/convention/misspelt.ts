/** Whether a text is a name with up to two letters wrong; in a short name one, because two make another word. */
export function isMisspelt(text: string, name: string): boolean {
  const most = name.length > shortName ? 2 : 1
  if (text === name || Math.abs(text.length - name.length) > most) return false
  return distance(text.toLowerCase(), name.toLowerCase()) <= most
}

const shortName = 7

function distance(one: string, other: string): number {
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      current[column] = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = above
    above = current
  }
  return above[other.length] ?? 0
}
