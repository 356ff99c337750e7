/** A text cut to a length, with an ellipsis where something was cut; never in the middle of a character. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text
  const splitsPair = /[\ud800-\udbff]/.test(text.charAt(length - 1))
  return `${text.slice(0, splitsPair ? length - 1 : length)}…`
}

/** Returns a number with its noun: `1 route`, `2 routes`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
